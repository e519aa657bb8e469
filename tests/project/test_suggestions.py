"""`gasla.x` for a name that does not exist says what was probably meant."""

import pytest

import gasla


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("leiden", "leiden_communities"),
        ("louvain", "louvain_communities"),
        ("pagernk", "pagerank"),
        ("dijkstra", "sssp"),
        ("degree", "Graph.out_degrees"),
        ("read_csv", "io.read"),
        ("networkx_reports", "networkx_report"),
    ],
)
def test_names_that_do_not_exist_have_a_hint(name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"^module 'gasla' has no attribute '{name}'; did you mean '{meant}'\\?$"):
        getattr(gasla, name)


def test_what_is_like_no_name_has_none() -> None:
    for name in ("qqqqq", "__path_of_nothing__", "_private"):
        with pytest.raises(AttributeError, match=f"^module 'gasla' has no attribute '{name}'$"):
            getattr(gasla, name)


def test_all_that_is_suggested_exists() -> None:
    for suggested in (*gasla._ELSEWHERE.values(), *(f"Graph.{part}" for part in gasla._OF_GRAPHS)):
        found = gasla
        for part in suggested.split("."):
            found = getattr(found, part)
        assert found is not None
    assert not gasla._ELSEWHERE.keys() & {*gasla.__all__}
