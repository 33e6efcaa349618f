"""Lookups: IDs of a time interval by the key's index, and a search for a text.

An ID begins with its time, so the rows of an hour lie side by side in the index of the primary key.
``filter(id__within=(start, stop))`` selects that range, and no column with a time is needed.

``search_fields`` of an admin tests whether a number *contains* the text that was typed, which is
never true for the text of an ID. Here these lookups test whether it *is* that ID.
"""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import EmptyResultSet
from django.db import models
from django.db.models import Lookup
from django.db.models.fields.related_lookups import RelatedExact, RelatedIn
from django.db.models.lookups import Exact, In, IntegerFieldExact
from django.utils import timezone

from frazil.django.declared import wrong_text_is_no_row
from frazil.django.fields import IdColumn
from frazil.errors import CodecError, ConfigError

_NO_ID = -1


@IdColumn.register_lookup
class Within(Lookup):
    """``id__within=(start, stop)``: the IDs from one moment to before another.

    A moment is a datetime; a naive one is in the time zone of the settings. Raises LayoutError for
    a scheme whose IDs of an interval are not one range, and for a moment outside its time field.
    """

    lookup_name = "within"
    prepare_rhs = False

    def get_prep_lookup(self) -> range:
        given = self.rhs
        if (
            not isinstance(given, tuple | list)
            or len(given) != 2
            or not all(isinstance(moment, datetime) for moment in given)
        ):
            raise ConfigError(
                f"within= needs two datetimes, (start, stop), not {given!r}", value=given
            )
        start, stop = map(_aware, given)
        found: range = self.lhs.output_field.declaration.scheme.window(start, stop)
        return found

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        """A range of the column; the last number belongs to it, as BIGINT ends with one."""
        if not self.rhs:
            raise EmptyResultSet
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} BETWEEN %s AND %s", [*parameters, self.rhs.start, self.rhs[-1]]


class _Readable:
    """With ``FRAZIL["wrong_text"] = "no row"``, a text that is no ID is the key of no row."""

    lhs: Any
    rhs: Any

    def get_prep_lookup(self) -> Any:
        """The number or numbers to compare with."""
        try:
            return super().get_prep_lookup()  # type: ignore[misc]
        except CodecError:
            if not wrong_text_is_no_row():
                raise
        field = self.lhs.output_field
        while field.is_relation:
            field = field.target_field
        if isinstance(self.rhs, list | tuple | set):
            self.rhs = [value for value in self.rhs if _is_id(field, value)]
        else:
            self.rhs = _NO_ID
        return super().get_prep_lookup()  # type: ignore[misc]


def _is_id(field: Any, value: Any) -> bool:
    try:
        field.get_prep_value(getattr(value, "pk", value))
    except CodecError:
        return False
    return True


for _of, _kind in (
    (IdColumn, IntegerFieldExact),
    (IdColumn, In),
    (models.ForeignKey, RelatedExact),
    (models.ForeignKey, RelatedIn),
):
    _of.register_lookup(type(_kind.__name__, (_Readable, _kind), {}))


class SameText(Exact):
    """The row whose ID has this text; no row for a text that is not an ID."""

    def get_prep_lookup(self) -> Any:
        try:
            return self.lhs.output_field.get_prep_value(str(self.rhs))
        except CodecError:
            return _NO_ID


for _asked in ("contains", "icontains", "iexact", "istartswith", "startswith"):
    IdColumn.register_lookup(SameText, _asked)


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is not None:
        return moment
    zone = timezone.get_current_timezone() if settings.USE_TZ else timezone.get_default_timezone()
    return timezone.make_aware(moment, zone)
