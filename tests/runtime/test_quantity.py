import pytest

from watchkeeper.runtime.quantity import Quantity, QuantityError, canonical_quantity, overflowed


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("00", "0"),
        ("100m", "100m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("1.5", "1500m"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("12000", "12k"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1025Mi", "1025Mi"),
        ("0.1Gi", "107374182400m"),
        ("512", "512"),
        ("-0.5Gi", "-512Mi"),
        ("1e3", "1e3"),
        ("1E3", "1E3"),
        ("3e-1", "300e-3"),
        ("1E", "1E"),
        ("0.0000000001", "1n"),
        ("9999999999Ei", "9223372036854775807"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        (" 1 ", "1"),
        ("-", "0"),
    ],
)
def test_a_quantity_has_one_canonical_form(text: str, canonical: str) -> None:
    assert canonical_quantity(text) == canonical


@pytest.mark.parametrize("text", ["1.500", "+5", "5.", "100Ki", "1n"])
def test_a_text_that_looks_canonical_is_kept_as_it_is(text: str) -> None:
    assert canonical_quantity(text) == text


@pytest.mark.parametrize("text", ["", "lots", "1 Gi", "1.2.3", "0x1", "1e1e1"])
def test_a_text_of_the_wrong_form_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="must match the regular expression"):
        canonical_quantity(text)


@pytest.mark.parametrize("text", ["1kk", "1e", "5Ki3", "1e99999999999999999999"])
def test_an_unknown_suffix_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="unable to parse quantity's suffix"):
        canonical_quantity(text)


def test_quantities_compare_by_amount_whatever_their_form() -> None:
    assert Quantity.parse("1Gi") == Quantity.parse("1024Mi") == Quantity.parse("1073741824")
    assert Quantity.parse("1G") < Quantity.parse("1Gi")
    assert Quantity.parse("-1") < Quantity.parse("0") < Quantity.parse("1m")


def test_sums_take_the_form_of_the_first_operand_that_is_not_zero() -> None:
    assert str(Quantity.parse("1Gi") + Quantity.parse("1Gi")) == "2Gi"
    assert str(Quantity.parse("0") + Quantity.parse("1Gi")) == "1Gi"
    assert str(Quantity.parse("1") - Quantity.parse("500m")) == "500m"


def test_whole_values_are_rounded_up_and_bounded() -> None:
    assert Quantity.parse("1.2").value() == 2
    assert Quantity.parse("-1.2").value() == -1
    assert Quantity.parse("1500m").milli_value() == 1500
    assert Quantity.parse("1e2000000000").value() == 2**63 - 1


@pytest.mark.parametrize(
    ("text", "places", "value"),
    [
        ("9223372036854775808", 0, -(2**63)),
        ("12345678901234567890", 0, -6101065172474983726),
        ("1e19", 0, 0),
        ("1e21", 3, 0),
        ("9223372036854776", 3, (9223372036854776 * 1000 + 2**63) % 2**64 - 2**63),
        ("1Ei", 3, (2**60 * 1000 + 2**63) % 2**64 - 2**63),
        ("9223372036854775807", 3, -1000),
        ("-12345678901234567890", 0, 6101065172474983726),
        ("16Ei", 3, -1000),
    ],
)
def test_beyond_64_bits_the_reference_has_another_number(text: str, places: int, value: int) -> None:
    assert overflowed(text, places) == value
