"""Stamping: rows from files to a file with new IDs, in stages that run at the same time.

Text that stays in its format is copied (see ``copies``). Everything else goes through typed batches
(see ``batches`` and ``writers``). One thread reads, one adds IDs, and one writes.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import IO

from frazil.cli._signals import whole
from frazil.cli.files.ahead import ahead
from frazil.cli.files.copies import Cut, Place, cut_csv
from frazil.cli.files.formats import hive_keys
from frazil.cli.files.id_column import Ids
from frazil.cli.files.reading import Reading
from frazil.cli.files.streams import Source

__all__ = ["stamp"]

Progress = Callable[[int, int], None]


def stamp(
    reading: Reading, place: Place, to: str, file: IO[bytes], ids: Ids, on_progress: Progress
) -> None:
    """Write the rows with new IDs in the format ``to``; ``on_progress`` gets bytes and rows.

    Raises ConfigError if the input is not a table or has the column, OSError if it cannot write.
    """
    if reading.kind == to and to in ("csv", "jsonl") and not hive_keys(*reading.files):
        _copy(reading, place, file, ids, on_progress)
    else:
        _convert(reading, place, to, file, ids, on_progress)


def _copy(reading: Reading, place: Place, file: IO[bytes], ids: Ids, on_progress: Progress) -> None:
    sources: list[Source] = []

    def opened(path: str) -> Source:
        sources.append(reading.open(path))
        return sources[-1]

    cuts: Iterator[Cut]
    if reading.kind == "csv":
        header, delimiter = reading.header, reading.delimiter
        cuts = cut_csv(reading.files, opened, place, header=header, delimiter=delimiter)
    else:
        from frazil.cli.files.json_lines import cut_json

        cuts = cut_json(reading.files, opened, place)
    joined = (cut.joined(ids.texts(len(cut.at))) for cut in ahead(cuts))
    for buffers in ahead(joined):
        with whole():
            for buffer in buffers:
                file.write(buffer)
        on_progress(_bytes_read(sources), ids.count)


def _bytes_read(sources: list[Source]) -> int:
    last = sources[-1:]
    return sum(each.size or 0 for each in sources[:-1]) + sum(each.bytes_read() for each in last)


def _convert(
    reading: Reading, place: Place, to: str, file: IO[bytes], ids: Ids, on_progress: Progress
) -> None:
    from frazil.cli.files.batches import open_batches
    from frazil.cli.files.writers import open_writer, with_ids

    size = sum(_size(path) for path in reading.files)
    numeric = ids.numeric and to in ("parquet", "arrow")
    with ExitStack() as stack:
        found = open_batches(reading, stack)
        schema, batches = with_ids(found, place, ids, numeric=numeric)
        with open_writer(to, file, schema, place.column, found.compression) as write:
            for batch in ahead(batches):
                with whole():
                    write(batch)
                on_progress(int(size * found.fraction()), ids.count)


def _size(path: str) -> int:
    with Source(path) as source:
        return source.size or 0
