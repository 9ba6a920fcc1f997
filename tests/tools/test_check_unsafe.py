import pytest
from check_unsafe import file_problems

ALLOWED = "crates/engine/src/var.rs"


@pytest.mark.parametrize(
    "source",
    [
        "// SAFETY: p is valid.\nunsafe { *p }",
        "let x = unsafe { *p }; // SAFETY: p is valid.",
        "// SAFETY: p is valid, and stays so\n// for long.\n#[inline]\nunsafe impl Send for X {}",
        "// SAFETY: both are.\nlet x =\n    f(unsafe { *p }, unsafe { *q });",
        "/// Reads.\n///\n/// # Safety\n/// p is valid.\npub unsafe fn read(p: *const u8) -> u8;",
        'type F = unsafe extern "C" fn(u8);',
        '// unsafe in a comment\nlet s = "unsafe { }"; let r = r#"unsafe "{"#; let c = \'"\'; /* unsafe */',
        "fn f<'a>(x: &'a u8) {}",
    ],
)
def test_fine(source):
    assert list(file_problems(ALLOWED, source)) == []


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("unsafe { *p }", 1),
        ("// SAFETY: for the first.\nlet x = unsafe { *p };\nlet y = unsafe { *q };", 3),
        ("// SAFETY: too far away.\n\nunsafe impl Send for X {}", 3),
        ('let s = "// SAFETY\n";\nunsafe { *p };', 3),
        ('#[unsafe(no_mangle)]\npub extern "C" fn f() {}', 1),
    ],
)
def test_without_a_reason(source, line):
    assert list(file_problems(ALLOWED, source)) == [f"{ALLOWED}:{line}: unsafe without a SAFETY comment"]


@pytest.mark.parametrize("source", ["// SAFETY: yes.\nunsafe { *p }", "unsafe fn f() {}"])
def test_in_the_wrong_place(source):
    name = "crates/ops/src/unary.rs"
    assert [p.partition(": ")[2] for p in file_problems(name, source)] == [
        "unsafe outside the places listed in tools/check_unsafe.py"
    ]
