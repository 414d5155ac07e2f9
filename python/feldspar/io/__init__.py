"""Files: tables and models, read and written."""
