//! Replacing a file as a whole or not at all: a new one is written beside it and takes its name when it is complete.
use crate::io;
use crate::sink::Sink;
use gluonish_base::Result;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{Error as IoError, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Bytes that are gathered before they go to the file.
const GATHERED: usize = 64 << 10;

/// Links that are followed at most, as the system does.
const LINKS: usize = 40;

/// A file that is being written. Dropped before `commit`, it leaves everything as it was.
pub struct Replace {
    file: File,
    /// Where the bytes go meanwhile; `None` for pipes and devices, which are written as they are.
    beside: Option<PathBuf>,
    target: PathBuf,
    gathered: Vec<u8>,
    replaced: Option<Metadata>,
}

impl Replace {
    pub fn new(path: &Path) -> Result<Replace> {
        let failed = |e: IoError| io("", path, &e);
        let target = followed(path).map_err(failed)?;
        let replaced = match fs::metadata(&target) {
            Ok(m) => Some(m),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(failed(e)),
        };
        if let Some(old) = &replaced {
            // A file that may not be written stays, also where its folder would let us replace it.
            let file = OpenOptions::new().write(true).open(&target).map_err(failed)?;
            if !old.is_file() {
                return Ok(Replace { file, beside: None, target, gathered: Vec::new(), replaced: None });
            }
        }
        let (file, beside) = fresh(&target, replaced.is_some()).map_err(|e| match e.kind() {
            ErrorKind::PermissionDenied => io("a new file is needed in its folder", path, &e),
            _ => failed(e),
        })?;
        Ok(Replace { file, beside: Some(beside), target, gathered: Vec::new(), replaced })
    }

    fn failed(&self, e: &IoError) -> gluonish_base::Error {
        io("", &self.target, e)
    }

    fn flush(&mut self) -> Result {
        let done = self.file.write_all(&self.gathered);
        self.gathered.clear();
        done.map_err(|e| self.failed(&e))
    }

    /// The file is complete: on return it has its name, and its bytes are on disk.
    pub fn commit(mut self) -> Result {
        self.flush()?;
        let Some(beside) = self.beside.clone() else { return Ok(()) };
        self.keep_owner_and_mode();
        self.file.sync_all().map_err(|e| self.failed(&e))?;
        fs::rename(&beside, &self.target).map_err(|e| self.failed(&e))?;
        self.beside = None;
        // The name is in its place; that it survives a power cut is as much as the file system allows.
        if let Ok(folder) = File::open(folder_of(&self.target)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    /// Best effort: only root can give files away, and not every file system has modes.
    fn keep_owner_and_mode(&self) {
        let Some(old) = &self.replaced else { return };
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, fchown};
            let same = self.file.metadata().is_ok_and(|m| (m.uid(), m.gid()) == (old.uid(), old.gid()));
            if !same {
                let _ = fchown(&self.file, Some(old.uid()), Some(old.gid()));
            }
        }
        let _ = self.file.set_permissions(old.permissions());
    }
}

impl Drop for Replace {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            let _ = fs::remove_file(beside);
        }
    }
}

impl Sink for Replace {
    fn put(&mut self, bytes: &[u8]) -> Result {
        if self.gathered.len() + bytes.len() > GATHERED {
            self.flush()?;
        }
        if bytes.len() > GATHERED {
            return self.file.write_all(bytes).map_err(|e| self.failed(&e));
        }
        self.gathered.extend_from_slice(bytes);
        Ok(())
    }
}

/// The file that a path means, through links, also one that does not exist yet.
fn followed(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = folder_of(&path).join(to),
            Err(_) => return Ok(path), // no link, or nothing
        }
    }
    Err(IoError::new(ErrorKind::InvalidInput, "too many links"))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file beside the target, `.name.0.tmp` or the next number. Its lock says that somebody still writes it; one that
/// nobody holds was left by a process that died, and makes room.
fn fresh(target: &Path, private: bool) -> std::io::Result<(File, PathBuf)> {
    let Some(name) = target.file_name() else {
        return Err(IoError::new(ErrorKind::IsADirectory, "it is a directory"));
    };
    for i in 0.. {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{i}.tmp"));
        let path = folder_of(target).join(hidden);
        remove_abandoned(&path);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if private {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600); // it gets the old file's mode at the end; until then it is not more open than that
        }
        #[cfg(not(unix))]
        let _ = private;
        match options.open(&path) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
            // Whoever was quicker to lock it takes it for abandoned, and removes it.
            Ok(file) if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) => {}
            Ok(file) if is_at(&file, &path) => return Ok((file, path)),
            Ok(_) => {}
        }
    }
    Err(IoError::new(ErrorKind::AlreadyExists, "no free name for a temporary file"))
}

fn remove_abandoned(path: &Path) {
    if let Ok(file) = OpenOptions::new().write(true).open(path)
        && file.try_lock().is_ok()
        && is_at(&file, path)
    {
        // Only who holds the lock renames or removes it, so it is still this file.
        let _ = fs::remove_file(path);
    }
}

/// Whether the path still names the open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}
/// Elsewhere open files cannot be renamed or removed.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}
