//! What the tests share: the corpus, and reading a file as hostile input is read.
use gluonish_base::Result;
use gluonish_formats::Contents;
use std::path::{Path, PathBuf};

/// The files of the corpus, and MXNet's own, by name.
pub(crate) fn corpus() -> Vec<(String, Vec<u8>)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut paths: Vec<PathBuf> = ["corpus/files", "golden"]
        .iter()
        .flat_map(|d| std::fs::read_dir(tests.join(d)).expect("the folder is in the repository"))
        .map(|e| e.expect("a readable folder").path())
        .filter(|p| p.extension().is_some_and(|e| e != "md"))
        .collect();
    paths.sort();
    let name = |p: &Path| p.file_name().unwrap_or_default().to_string_lossy().into_owned();
    paths.into_iter().map(|p| (name(&p), std::fs::read(&p).expect("a readable file"))).collect()
}

/// Reads headers and all bytes. What arrays would take is checked against what the file could really hold.
pub(crate) fn read(file: &[u8]) -> Result<Contents> {
    let mut source = file;
    let contents = Contents::read(&mut source, None)?;
    assert!(contents.entries.len() <= file.len(), "more arrays than bytes");
    let claimed: u128 = contents.entries.iter().map(|e| e.nbytes() as u128).sum();
    assert!(claimed <= file.len() as u128 * 1032, "{claimed} bytes claimed by a file of {}", file.len());
    for e in &contents.entries {
        let mut stream = e.stream(&mut source)?;
        let mut piece = [0; 4096];
        let mut left = e.nbytes();
        while left > 0 {
            let n = left.min(piece.len());
            stream.read(&mut piece[..n])?;
            left -= n;
        }
        stream.finish()?;
    }
    Ok(contents)
}
