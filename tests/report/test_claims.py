"""Numbers are looked up, never made: what an id gives, and that an unknown one is an error."""

import pytest

from specdec.report.claims import Claims, UnknownClaim, pointer

DOCUMENTS = {"a.json": {"group": {"x/y": [1, {"r_gm": 1.5, "ci_low": 1.2, "ci_high": 1.9}]}, "empty": None}}


@pytest.fixture
def claims() -> Claims:
    entry = {"value": 1.86, "low": 1.6, "high": 2.1, "unit": "ratio", "n": 16, "source": "timing/runs.csv"}
    return Claims({"timing.256.lookup_k5.r_gm": entry}, DOCUMENTS)


def test_a_claim_carries_value_interval_unit_count_and_source(claims):
    claim = claims("timing.256.lookup_k5.r_gm")

    assert (claim.value, claim.low, claim.high) == (1.86, 1.6, 2.1)
    assert (claim.unit, claim.n, claim.source) == ("ratio", 16, "timing/runs.csv")


def test_an_unknown_id_is_an_error_that_names_it(claims):
    with pytest.raises(UnknownClaim, match=r"timing\.256\.lookup_k6\.r_gm"):
        claims("timing.256.lookup_k6.r_gm")


def test_a_pointer_finds_one_value_in_a_result_file(claims):
    assert claims(pointer("a.json", "group", "x/y", 0)).value == 1


def test_a_pointed_at_ratio_brings_the_interval_beside_it(claims):
    claim = claims(pointer("a.json", "group", "x/y", 1, "r_gm"))

    assert (claim.value, claim.low, claim.high) == (1.5, 1.2, 1.9)


def test_a_null_is_a_claim_that_was_not_measured(claims):
    assert not claims("a.json#/empty").known


@pytest.mark.parametrize("id", ["a.json#/nothing", "b.json#/group", "a.json#/group", "a.json#/group/x~1y/9"])
def test_a_pointer_that_finds_no_single_value_is_an_error(claims, id):
    with pytest.raises(UnknownClaim):
        claims(id)
    assert id not in claims


def test_the_first_id_that_exists_is_taken(claims):
    assert claims.first("no.such", "a.json#/empty") == "a.json#/empty"
    assert claims.first("no.such") is None
