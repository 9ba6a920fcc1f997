//! Every `GLUONISH_*` variable: name, default, meaning. Read once; what is not in this table is an error at import.
use std::ffi::OsString;
use std::sync::OnceLock;

/// One environment variable.
pub struct Setting {
    pub name: &'static str,
    pub default: &'static str,
    pub doc: &'static str,
}

pub static TABLE: &[Setting] = &[
    Setting {
        name: "GLUONISH_ENGINE",
        default: "threaded",
        doc: "`threaded` runs operations asynchronously; `naive` runs each one before the call returns, for debugging.",
    },
    Setting {
        name: "GLUONISH_NUM_THREADS",
        default: "0",
        doc: "Threads that one operation may use. 0: as many as the affinity mask and the cgroup allow.",
    },
    Setting {
        name: "GLUONISH_INFLIGHT_BYTES",
        default: "0",
        doc: "Bytes that queued operations may still have to write before a push waits. 0: a few operations ahead.",
    },
    Setting {
        name: "GLUONISH_MEMORY_LIMIT",
        default: "0",
        doc: "Bytes that arrays may hold, with an optional suffix K, M, G. 0: what the cgroup and the machine have.",
    },
    Setting {
        name: "GLUONISH_PROFILE",
        default: "",
        doc: "A file name: profile from import on and write a Chrome trace there at exit.",
    },
    Setting {
        name: "GLUONISH_JIT",
        default: "1",
        doc: "0: fused elementwise chains are interpreted, not turned into machine code. The results are the same.",
    },
    Setting {
        name: "GLUONISH_CONV",
        default: "auto",
        doc: "How convolutions are computed: `auto`, `no-winograd`, or `implicit`, `direct`, `first`, `winograd`, `depthwise` where that can.",
    },
    Setting {
        name: "GLUONISH_FTZ",
        default: "0",
        doc: "1: flush denormal numbers to zero, in the threads of kernels and in the one that imports the package.",
    },
    Setting {
        name: "GLUONISH_HOME",
        default: "~/.gluonish",
        doc: "The directory for what is downloaded: data sets and weights. `gluonish.base.data_dir()` tells it.",
    },
];

/// All algorithms but the one whose errors are larger.
pub const NO_WINOGRAD: &str = "no-winograd";
const CONVOLUTIONS: [&str; 7] = ["auto", NO_WINOGRAD, "implicit", "direct", "first", "winograd", "depthwise"];

#[derive(Clone, Debug)]
pub struct Settings {
    pub naive: bool,
    pub num_threads: usize,
    pub inflight_bytes: usize,
    pub memory_limit: usize,
    pub profile: Option<String>,
    pub ftz: bool,
    pub jit: bool,
    pub conv: String,
    /// What was read for each row of the table.
    pub texts: Vec<String>,
    /// What could not be understood; reported once, by the binding.
    pub problems: Vec<String>,
}

/// The settings of this process.
pub fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    let ours = |(k, v): (OsString, OsString)| {
        let name = k.into_string().ok().filter(|k| k.starts_with("GLUONISH_"))?;
        Some((name, v.to_string_lossy().into_owned()))
    };
    SETTINGS.get_or_init(|| read(std::env::vars_os().filter_map(ours).collect()))
}

fn read(mut vars: Vec<(String, String)>) -> Settings {
    vars.sort();
    let mut problems = Vec::new();
    for (k, _) in &vars {
        if !TABLE.iter().any(|s| s.name == k) {
            let known: Vec<_> = TABLE.iter().map(|s| s.name).collect();
            problems.push(format!("{k} is not a setting; the settings are {}", known.join(", ")));
        }
    }
    let text = |name: &str| {
        let default = TABLE.iter().find(|s| s.name == name).map_or("", |s| s.default);
        vars.iter().find(|(k, _)| k == name).map_or(default, |(_, v)| v.trim()).to_string()
    };
    let mut number = |name: &str, parse: fn(&str) -> Option<usize>, expected: &str| {
        let v = text(name);
        parse(&v).unwrap_or_else(|| {
            problems.push(format!("{name}={v} is not valid: expected {expected}"));
            0
        })
    };
    let threads = "a number of threads, or 0 for as many as the machine lets the process use";
    let num_threads = number("GLUONISH_NUM_THREADS", |v| v.parse().ok(), threads);
    let mut bytes = |name: &str| number(name, parse_bytes, "a number of bytes, with an optional suffix K, M or G");
    let (inflight_bytes, memory_limit) = (bytes("GLUONISH_INFLIGHT_BYTES"), bytes("GLUONISH_MEMORY_LIMIT"));
    let mut flag = |name: &str| number(name, |v| v.parse().ok().filter(|n| *n < 2), "0 or 1") != 0;
    let (ftz, jit) = (flag("GLUONISH_FTZ"), flag("GLUONISH_JIT"));
    let engine = text("GLUONISH_ENGINE");
    if !matches!(engine.as_str(), "threaded" | "naive") {
        problems.push(format!("GLUONISH_ENGINE={engine} is not valid: expected threaded or naive"));
    }
    let conv = text("GLUONISH_CONV");
    if !CONVOLUTIONS.contains(&conv.as_str()) {
        problems.push(format!("GLUONISH_CONV={conv} is not valid: expected {}", CONVOLUTIONS.join(", ")));
    }
    let profile = Some(text("GLUONISH_PROFILE")).filter(|p| !p.is_empty());
    let texts = TABLE.iter().map(|s| text(s.name)).collect();
    let naive = engine == "naive";
    Settings { naive, num_threads, inflight_bytes, memory_limit, profile, ftz, jit, conv, texts, problems }
}

/// `4G`, `512M`, `64K`, `1000`.
fn parse_bytes(v: &str) -> Option<usize> {
    let (digits, unit) = match v.char_indices().last()? {
        (i, 'k' | 'K') => (&v[..i], 1 << 10),
        (i, 'm' | 'M') => (&v[..i], 1 << 20),
        (i, 'g' | 'G') => (&v[..i], 1 << 30),
        _ => (v, 1),
    };
    digits.trim().parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading() {
        let s = read(vec![("GLUONISH_MEMORY_LIMIT".into(), "4G".into()), ("GLUONISH_ENGINE".into(), "naive".into())]);
        assert_eq!((s.memory_limit, s.naive, s.problems.len()), (4 << 30, true, 0));
        let s = read(vec![("GLUONISH_ENGIN".into(), "x".into()), ("GLUONISH_NUM_THREADS".into(), "two".into())]);
        assert_eq!(s.problems.len(), 2);
        assert!(s.problems[0].contains("GLUONISH_ENGIN is not a setting"));
        assert_eq!(parse_bytes("99999999999999999999G"), None);
        let s = read(vec![("GLUONISH_NUM_THREADS".into(), "-1".into()), ("GLUONISH_JIT".into(), "2".into())]);
        assert!(s.problems[0].starts_with("GLUONISH_NUM_THREADS=-1 is not valid: expected a number of threads, or 0"));
        assert_eq!(s.problems[1], "GLUONISH_JIT=2 is not valid: expected 0 or 1");
    }
}
