"""Derivatives for other libraries; each module imports its library, and nothing else imports the module."""
