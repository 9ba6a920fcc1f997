//! A strict reader of JSON that hands out one value after the other: no tree is built, so a hostile text costs no memory.
use crate::bad;
use gluonish_base::{Error, Result};

/// Nested values that are skipped at most; the formats have four levels.
const DEPTH: usize = 32;

pub(crate) struct Json<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Json<'a> {
    pub(crate) fn new(text: &'a str) -> Json<'a> {
        Json { text, at: 0 }
    }

    #[cold]
    fn wrong(&self, wanted: &str) -> Error {
        let found = match self.text[self.at..].chars().next() {
            Some(c) => format!("{c:?}"),
            None => "the end".into(),
        };
        bad(format!("the header is not valid JSON: {found} at byte {} where {wanted} is expected", self.at))
    }

    /// The next byte that is no white space, not consumed.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text[self.at..].trim_start_matches([' ', '\t', '\n', '\r']);
        self.at = self.text.len() - rest.len();
        rest.bytes().next()
    }

    fn eat(&mut self, c: u8) -> bool {
        let there = self.peek() == Some(c);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, c: u8) -> Result {
        if self.eat(c) { Ok(()) } else { Err(self.wrong(&format!("{:?}", c as char))) }
    }

    /// Calls `each` with every key; it must read the value.
    pub(crate) fn object(&mut self, mut each: impl FnMut(&mut Self, String) -> Result) -> Result {
        self.expect(b'{')?;
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            let key = self.string()?;
            self.expect(b':')?;
            each(self, key)?;
            if !self.eat(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// Calls `each` for every element, which it must read.
    pub(crate) fn list(&mut self, mut each: impl FnMut(&mut Self) -> Result) -> Result {
        self.expect(b'[')?;
        if self.eat(b']') {
            return Ok(());
        }
        loop {
            each(self)?;
            if !self.eat(b',') {
                return self.expect(b']');
            }
        }
    }

    /// A whole number that is not negative.
    pub(crate) fn count(&mut self) -> Result<u64> {
        self.peek();
        let rest = &self.text[self.at..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let n = &rest[..digits];
        let whole = !rest[digits..].starts_with(['.', 'e', 'E']) && (digits == 1 || !n.starts_with('0'));
        let value = n.parse().ok().filter(|_| whole).ok_or_else(|| self.wrong("a whole number below 2^64"))?;
        self.at += digits;
        Ok(value)
    }

    pub(crate) fn string(&mut self) -> Result<String> {
        self.expect(b'"')?;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|c: char| c == '"' || c == '\\' || c < ' ').ok_or_else(|| {
                self.at = self.text.len();
                self.wrong("the end of a string")
            })?;
            out.push_str(&rest[..plain]);
            self.at += plain;
            match rest.as_bytes()[plain] {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => out.push(self.escape()?),
                _ => return Err(self.wrong("a character that is no control character")),
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let kind = self.text.as_bytes().get(self.at + 1).copied();
        let c = match kind {
            Some(c @ (b'"' | b'\\' | b'/')) => c as char,
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(self.wrong("an escape that JSON knows")),
        };
        self.at += 2;
        Ok(c)
    }

    /// `\u` and four digits, or two of those that belong together.
    fn unicode(&mut self) -> Result<char> {
        let high = self.hex(self.at)?;
        let (code, length) = match high {
            0xD800..=0xDBFF => {
                let low = self.hex(self.at + 6)?.checked_sub(0xDC00).filter(|l| *l < 0x400);
                let low = low.ok_or_else(|| self.wrong("a pair of surrogates"))?;
                (0x10000 + ((high - 0xD800) << 10 | low), 12)
            }
            _ => (high, 6),
        };
        let c = char::from_u32(code).ok_or_else(|| self.wrong("a pair of surrogates"))?;
        self.at += length;
        Ok(c)
    }

    fn hex(&self, at: usize) -> Result<u32> {
        let digits = self.text.get(at..at + 6).and_then(|t| t.strip_prefix("\\u"));
        let digits = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        digits.and_then(|d| u32::from_str_radix(d, 16).ok()).ok_or_else(|| self.wrong("\\u and four digits"))
    }

    /// Reads any value and forgets it.
    pub(crate) fn skip(&mut self) -> Result {
        self.skip_within(DEPTH)
    }

    fn skip_within(&mut self, depth: usize) -> Result {
        let Some(below) = depth.checked_sub(1) else { return Err(self.wrong("less nesting")) };
        match self.peek() {
            Some(b'{') => self.object(|j, _| j.skip_within(below)),
            Some(b'[') => self.list(|j| j.skip_within(below)),
            Some(b'"') => self.string().map(drop),
            _ => {
                let rest = &self.text[self.at..];
                let word = rest.find([',', '}', ']', ' ', '\t', '\n', '\r']).unwrap_or(rest.len());
                let known = matches!(&rest[..word], "true" | "false" | "null") || is_number(&rest[..word]);
                if !known {
                    return Err(self.wrong("a value"));
                }
                self.at += word;
                Ok(())
            }
        }
    }

    /// Nothing but white space may follow.
    pub(crate) fn end(mut self) -> Result {
        if self.peek().is_none() { Ok(()) } else { Err(self.wrong("the end")) }
    }
}

fn is_number(word: &str) -> bool {
    let digit = word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    digit && word.parse::<f64>().is_ok()
}

/// A string as JSON writes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_round_trip() {
        for text in ["", "plain", "a\"b\\c/d", "tab\tline\n\u{1}", "grün 漢字 🎉"] {
            assert_eq!(Json::new(&quoted(text)).string().unwrap_or_default(), text);
        }
        let escaped = r#""\u0041\ud83c\udf89\/\n""#;
        assert_eq!(Json::new(escaped).string().unwrap_or_default(), "A🎉/\n");
    }

    #[test]
    fn wrong_texts_are_refused() {
        let texts = [
            "",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,}",
            "{a:1}",
            "[1,]",
            "[1 2]",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\u12\"",
            "\"a",
            "nul",
            "-",
            "1.5.5",
            "\"\\uü123\"",
        ];
        for text in texts {
            let mut json = Json::new(text);
            assert!(json.skip().and_then(|()| json.end()).is_err(), "{text}");
        }
        assert!(Json::new(&"[".repeat(100_000)).skip().is_err());
        for text in ["01", "-1", "1.0", "1e3", "18446744073709551616", ""] {
            assert!(Json::new(text).count().is_err(), "{text}");
        }
        assert_eq!(Json::new("18446744073709551615").count().unwrap_or(0), u64::MAX);
    }
}
