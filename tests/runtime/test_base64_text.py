import pytest

from watchkeeper.runtime.base64_text import Base64Error, canonical_base64


@pytest.mark.parametrize(
    ("text", "canonical"), [("", ""), ("YQ==", "YQ=="), ("YR==", "YQ=="), ("YWJj\r\nZGVm", "YWJjZGVm")]
)
def test_bytes_have_one_canonical_text(text: str, canonical: str) -> None:
    assert canonical_base64(text) == canonical


@pytest.mark.parametrize(
    ("text", "at"),
    [("not base64", 3), ("YQ", 0), ("YQ=", 3), ("Y", 0), ("YWJjZ", 4), ("YQ==x", 4), ("YQ=a", 2), ("====", 0)],
)
def test_a_fault_is_placed_where_the_reference_places_it(text: str, at: int) -> None:
    with pytest.raises(Base64Error) as raised:
        canonical_base64(text)
    assert str(raised.value) == f"illegal base64 data at input byte {at}"
