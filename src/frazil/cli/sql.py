"""``frazil sql``: functions that read IDs inside a database, and the one that makes them.

An ID in a table holds its moment and its node, but a SQL console shows neither. The command prints
statements and connects to nothing, so they can be reviewed, kept among the migrations and applied
by a user with the permission.
"""

from functools import partial

import click

from frazil.cli._options import is_default, scheme_options
from frazil.schemes.scheme import Scheme

_ONLY = {
    "ids": ("--ids", "postgresql"),
    "schema": ("--schema", "postgresql"),
    "table": ("--table", "sqlite"),
    "column": ("--column", "sqlite"),
}


@click.command
@click.argument("dialect", type=click.Choice(["postgresql", "mysql", "sqlite"]))
@partial(scheme_options, keyed=False)
@click.option(
    "--name",
    default="frazil",
    show_default=True,
    metavar="NAME",
    help="The beginning of the functions' names: order makes order_time(id).",
)
@click.option(
    "--schema",
    default="public",
    show_default=True,
    metavar="NAME",
    help="PostgreSQL: the schema of the functions.",
)
@click.option("--table", metavar="NAME", help="SQLite: the table for which a view is made.")
@click.option("--column", default="id", metavar="NAME", help="SQLite: its column of IDs.")
@click.option(
    "--ids", is_flag=True, help="PostgreSQL: print frazil_id(), which makes IDs, instead."
)
@click.option("--drop", is_flag=True, help="Print the statements that remove them again.")
def command(
    *,
    dialect: str,
    scheme: Scheme,
    name: str,
    schema: str,
    table: str | None,
    column: str,
    ids: bool,
    drop: bool,
) -> None:
    """Print SQL that reads IDs: their time, node, fields and text.

    The statements may be applied again. PostgreSQL (12 or newer) and MySQL or MariaDB get
    functions; SQLite has none of its own, so it gets a view of a table. With --ids, prints the
    function with which PostgreSQL makes IDs itself; frazil init URL --sql installs it.

    \b
      frazil sql postgresql --encoding base62 --prefix order_ | psql app
      frazil sql postgresql --name order --drop | psql app
      frazil sql postgresql --ids
      frazil sql mysql --scheme sonyflake --name order | mysql app
      frazil sql sqlite --table orders | sqlite3 app.db
    """
    for option, (flag, owner) in _ONLY.items():
        if dialect != owner and not is_default(option):
            raise click.UsageError(f"{flag} is for {owner}")
    if ids:
        from frazil.sql.ids import drop_ids, ids_sql

        text = drop_ids(function=schema) if drop else ids_sql(function=schema)
    elif dialect == "postgresql":
        from frazil.sql import postgres

        text = (postgres.drop_functions if drop else postgres.functions)(scheme, name, schema)
    elif dialect == "mysql":
        from frazil.sql import mysql

        text = (mysql.drop_functions if drop else mysql.functions)(scheme, name)
    elif table is not None:
        from frazil.sql import sqlite

        text = (sqlite.drop_view if drop else sqlite.view)(scheme, name, table, column)
    else:
        raise click.UsageError("SQLite has no functions of its own; name a table with --table")
    click.echo(text, nl=False)
