"""An example: orders in FastAPI, SQLAlchemy and PostgreSQL, with one kind of ID through all."""
