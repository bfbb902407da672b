"""Policies: actions, network, export to ONNX and the deployed file."""
