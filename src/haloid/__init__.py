"""haloid: from the log of a humanoid that carries an unknown load to a calibrated model with error bars."""

__version__ = "0.1.0"
