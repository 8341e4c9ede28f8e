//! One member of an object, watched for while the object is read, however often it stands there.

pub(crate) struct Member<'a> {
    name: &'static str,
    value: Option<&'a str>,
    repeated: bool,
}

/// The member of this name stands twice or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeated(pub(crate) &'static str);

impl<'a> Member<'a> {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            value: None,
            repeated: false,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Takes note of one member of the object: its unescaped key and its raw value.
    pub(crate) fn offer(&mut self, key: &[u8], value: &'a str) {
        if key == self.name.as_bytes() {
            self.repeated |= self.value.replace(value).is_some();
        }
    }

    /// The raw value of a member that may stand once at most.
    pub(crate) fn once(&self) -> Result<Option<&'a str>, Repeated> {
        if self.repeated {
            return Err(Repeated(self.name));
        }
        Ok(self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_stands_once_or_not_at_all() {
        let mut member = Member::new("id");
        member.offer(b"ID", "0");
        assert_eq!(member.once(), Ok(None));
        member.offer(b"id", "1");
        assert_eq!(member.once(), Ok(Some("1")));
        member.offer(b"id", "1");
        assert_eq!(member.once(), Err(Repeated("id")));
    }
}
