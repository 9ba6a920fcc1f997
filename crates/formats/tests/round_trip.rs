//! What is written is read again, and what others wrote is read.
mod common;
use common::{corpus, read};
use gluonish_base::{DType, Dims, Result};
use gluonish_formats::{Contents, Entry, Format, Item, write};

fn items(format: Format) -> Vec<Item> {
    let shapes: [&[isize]; 5] = [&[], &[3], &[2, 3], &[0, 4], &[1, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1, 1]];
    let types = DType::ALL.into_iter().filter(|d| *d != DType::BF16 || format != Format::Npz);
    let all = types
        .flat_map(|dtype| shapes.map(|s| Item { name: format!("{dtype}/{s:?} \"ü\""), dtype, shape: Dims::of(s) }));
    all.collect()
}

fn bytes_of(i: usize, item: &Item) -> Vec<u8> {
    (0..item.nbytes()).map(|b| if item.dtype == DType::Bool { b % 2 } else { b * 7 + i } as u8).collect()
}

fn bytes_in(mut file: &[u8], entry: &Entry) -> Result<Vec<u8>> {
    let mut bytes = vec![0; entry.nbytes()];
    let mut stream = entry.stream(&mut file)?;
    stream.read(&mut bytes)?;
    stream.finish()?;
    Ok(bytes)
}

#[test]
fn every_type_and_shape() -> Result {
    for format in [Format::Params, Format::Safetensors, Format::Npz] {
        let items = items(format);
        let mut file = Vec::new();
        write(format, &items, true, &[], &mut file, &mut |i, take| take(&bytes_of(i, &items[i])))?;
        let contents = read(&file)?;
        assert_eq!((contents.format, contents.named, contents.entries.len()), (format, true, items.len()));
        for (i, (item, entry)) in items.iter().zip(&contents.entries).enumerate() {
            assert_eq!((&item.name, item.dtype, item.shape), (&entry.name, entry.dtype, entry.shape));
            assert_eq!(bytes_in(&file, entry)?, bytes_of(i, item), "{format:?} {}", item.name);
        }
    }
    Ok(())
}

#[test]
fn lists_and_metadata() -> Result {
    let items = [Item { name: String::new(), dtype: DType::F32, shape: Dims::of(&[2]) }];
    let mut file = Vec::new();
    write(Format::Params, &items, false, &[], &mut file, &mut |_, take| take(&[1; 8]))?;
    assert!(!read(&file)?.named);
    let metadata = [("k\n".to_string(), "\"v\" ü".to_string())];
    assert!(write(Format::Npz, &items, true, &metadata, &mut Vec::new(), &mut |_, take| take(&[1; 8])).is_err());
    let mut file = Vec::new();
    write(Format::Safetensors, &items, true, &metadata, &mut file, &mut |_, take| take(&[1; 8]))?;
    assert_eq!(read(&file)?.metadata, metadata);
    Ok(())
}

#[test]
fn a_promise_that_is_not_kept_is_an_error() {
    let items = [Item { name: "x".into(), dtype: DType::F32, shape: Dims::of(&[2]) }];
    for format in Format::ALL {
        let done = write(format, &items, true, &[], &mut Vec::new(), &mut |_, take| take(&[1; 4]));
        assert!(done.is_err_and(|e| e.to_string().contains("4 bytes were given for 8")));
    }
    let twice = [items[0].clone(), items[0].clone()];
    let done = write(Format::Params, &twice, true, &[], &mut Vec::new(), &mut |_, take| take(&[1; 8]));
    assert!(done.is_err_and(|e| e.to_string().contains("two arrays are called 'x'")));
}

#[test]
fn the_corpus_is_read() {
    for (name, file) in corpus() {
        match (name.starts_with("sparse"), read(&file)) {
            (false, Ok(contents)) => assert_eq!(Some(contents.format.name()), name.rsplit('.').next(), "{name}"),
            (true, Err(e)) => assert!(e.to_string().contains(" is a sparse array (csr)"), "{e}"),
            (_, other) => panic!("{name}: {:?}", other.map(|c| c.entries.len())),
        }
    }
}

#[test]
fn other_orders_of_bytes_and_axes() -> Result {
    let files = corpus();
    let get = |name: &str| files.iter().find(|(n, _)| n == name).map(|(_, f)| f.as_slice()).unwrap_or_default();
    let file = get("big_endian.npy");
    let entry = &Contents::read(&mut { file }, None)?.entries[0];
    let values: Vec<f64> = bytes_in(file, entry)?.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    assert_eq!(values, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert!(Contents::read(&mut { get("fortran.npy") }, None)?.entries[0].columns);
    // Truth values of any byte become 0 and 1: code that runs on them relies on it.
    let mut file = get("v3.params").to_vec();
    let entry = Contents::read(&mut &file[..], None)?.entries.remove(2);
    assert_eq!(bytes_in(&file, &entry)?, [1, 0]);
    let names = 8 + 3 * 9; // their number, and for each a length and a letter
    let first = file.len() - names - 2;
    file[first] = 255;
    assert_eq!(bytes_in(&file, &entry)?, [1, 0]);
    Ok(())
}
