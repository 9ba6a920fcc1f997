//! How much memory this process may use.
use std::fs;

/// The smaller of the machine's memory and what the control group allows.
pub(crate) fn machine_limit() -> usize {
    cgroup_limits().into_iter().fold(machine(), usize::min)
}

fn machine() -> usize {
    // SAFETY: both calls only read constants of the system.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    match (usize::try_from(pages), usize::try_from(size)) {
        (Ok(pages), Ok(size)) if pages > 0 => pages.saturating_mul(size),
        _ => isize::MAX as usize,
    }
}

/// Limits of this process's group and of the groups around it, for both versions of the interface.
fn cgroup_limits() -> Vec<usize> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let files = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            c if c.split(',').any(|c| c == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => return None,
        };
        Some((root, path.to_string(), file))
    });
    let mut limits = Vec::new();
    for (root, path, file) in files {
        let mut path = path.as_str();
        loop {
            let text = fs::read_to_string(format!("{root}{}/{file}", path.trim_end_matches('/')));
            limits.extend(text.ok().and_then(|t| t.trim().parse::<usize>().ok()));
            match path.trim_end_matches('/').rfind('/') {
                Some(cut) => path = &path[..cut],
                None => break,
            }
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    #[test]
    fn some_memory_is_there() {
        assert!(super::machine_limit() > 16 << 20);
    }
}
