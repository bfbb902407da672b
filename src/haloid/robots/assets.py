def drop_missing_assets(spec): return ""
