import check_sizes


def test_caps(tmp_path):
    folder = tmp_path / "crates" / "x" / "src"
    folder.mkdir(parents=True)
    (folder / "fits.rs").write_text("\n" * 600)
    (folder / "long.rs").write_text("\n" * 601)
    (folder / "long.txt").write_text("\n" * 9999)
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "long.py").write_text("\n" * 501)
    assert list(check_sizes.problems(tmp_path)) == [
        "crates/x/src/long.rs: 601 lines, the cap is 600",
        "python/long.py: 501 lines, the cap is 500",
    ]
