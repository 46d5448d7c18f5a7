"""Countries and regions: their codes and names, and that they are those of the library."""

from __future__ import annotations

import pytest
from holidays import list_supported_countries

from halo_scheduler import ScheduleError
from halo_scheduler.grammar.places import countries, find_place, place_name, read_place

_CITIES = {
    *("NSW Western", "São Paulo Capital", "Augsburg", "Barletta"),
    *("South Canterbury", "Barcelona", "Stadt Zurich"),
}
"""Cities and districts, which are no regions."""


def test_every_country_and_region_of_the_library_has_a_name() -> None:
    supported = list_supported_countries(include_aliases=False)
    assert set(supported) == set(countries())
    for code, regions in supported.items():
        missing = set(regions) - set(countries()[code].regions) - _CITIES
        assert not missing, code


def test_every_name_is_found_again() -> None:
    for code, country in countries().items():
        assert find_place(code) == find_place(country.name) == code
        for region in country.regions:
            place = f"{code}-{region}"
            assert find_place(place) == find_place(place_name(place)) == place
            text = f"{place_name(place)}, moved"
            assert read_place(text, 0) == (place, len(place_name(place)))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Bavaria", "DE-BY"),
        ("the UK", "GB"),
        ("usa", "US"),
        ("Georgia", "GE"),
        ("turkiye", "TR"),
        ("côte", None),
    ],
)
def test_places_have_other_names(text: str, place: str | None) -> None:
    if place is not None:
        assert find_place(text) == place
        return
    with pytest.raises(ScheduleError):
        find_place(text)


def test_a_place_ends_where_its_name_does() -> None:
    assert read_place("in the United States at 9:00", 3) == ("US", 20)
    assert read_place("Guinea and Austria", 0) == ("GN", 6)
    assert read_place("nowhere", 0) is None
    assert read_place("", 0) is None
