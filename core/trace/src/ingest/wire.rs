//! Decodes the protobuf wire format in place: no copies, no recursion, byte offsets in errors.

/// The offset at which a message is invalid, and the reason.
#[derive(Debug, PartialEq, Eq)]
pub struct WireError {
    /// Bytes from the start of the file.
    pub offset: usize,
    /// The reason.
    pub reason: String,
}

/// The result of a decoding step; errors are rare, so they are boxed to keep results small.
pub type Result<T> = std::result::Result<T, Box<WireError>>;

/// One field of a message.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// Wire type 0: integers, booleans, enumerations.
    Varint(u64),
    /// Wire type 1: eight bytes.
    Fixed64(u64),
    /// Wire type 2: text, bytes or a message, with the offset of its first byte.
    Block(Message<'a>),
    /// Wire type 5: four bytes; no relevant field uses it.
    Fixed32,
}

/// The bytes of one message, read field by field.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    file: &'a [u8],
    position: usize,
    /// End of the message; never beyond the file.
    end: usize,
}

impl<'a> Message<'a> {
    /// A file as one message.
    pub fn whole(file: &'a [u8]) -> Self {
        Self {
            file,
            position: 0,
            end: file.len(),
        }
    }

    /// The bytes not decoded yet.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        &self.file[self.position..self.end]
    }

    /// The offset of the next byte in the file.
    pub fn offset(&self) -> usize {
        self.position
    }

    /// Whether all bytes are decoded.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.position == self.end
    }

    #[cold]
    fn error(&self, reason: String) -> Box<WireError> {
        Box::new(WireError {
            offset: self.position,
            reason,
        })
    }

    /// Decodes a varint.
    #[inline(always)]
    pub fn varint(&mut self) -> Result<u64> {
        // Nearly every tag and length is one byte.
        match self.bytes().first() {
            Some(&byte) if byte < 0x80 => {
                self.position += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for (index, &byte) in self.bytes().iter().take(10).enumerate() {
            if index == 9 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.position += index + 1;
                return Ok(value);
            }
        }
        Err(self.error(if self.bytes().len() < 10 {
            "truncated in the middle of an integer".to_owned()
        } else {
            "an integer of more than 64 bits".to_owned()
        }))
    }

    /// The next `length` bytes as a nested message.
    #[inline(always)]
    pub fn block(&mut self, length: u64) -> Result<Message<'a>> {
        let left = self.end - self.position;
        if length > left as u64 {
            let reason = format!("truncated: {length} bytes announced, {left} left");
            return Err(self.error(reason));
        }
        let end = self.position + length as usize;
        let block = Message { end, ..*self };
        self.position = end;
        Ok(block)
    }

    /// The next field, if it is a complete block with this one-byte tag.
    #[inline(always)]
    pub fn block_of(&mut self, tag: u8) -> Option<Message<'a>> {
        let mut ahead = *self;
        let [first, short @ 0..0x80, ..] = *ahead.bytes() else {
            return self.long_block_of(tag);
        };
        if first != tag {
            return None;
        }
        ahead.position += 2;
        let block = ahead.block(short.into()).ok()?;
        *self = ahead;
        Some(block)
    }

    /// Like `block_of`, for a length of more than one byte.
    fn long_block_of(&mut self, tag: u8) -> Option<Message<'a>> {
        let mut ahead = *self;
        if ahead.varint().ok()? != u64::from(tag) {
            return None;
        }
        let length = ahead.varint().ok()?;
        let block = ahead.block(length).ok()?;
        *self = ahead;
        Some(block)
    }

    /// The next field as (number, value); None at the end of the message.
    #[inline(always)]
    pub fn field(&mut self) -> Result<Option<(u64, Value<'a>)>> {
        if self.is_empty() {
            return Ok(None);
        }
        let start = *self;
        let key = self.varint()?;
        let value = match key & 7 {
            2 => {
                let length = self.varint()?;
                Value::Block(self.block(length)?)
            }
            1 => Value::Fixed64(u64::from_le_bytes(self.array()?)),
            0 => Value::Varint(self.varint()?),
            5 => self.array::<4>().map(|_| Value::Fixed32)?,
            other => {
                let reason = format!("wire type {other}, allowed are 0, 1, 2 and 5");
                return Err(start.error(reason));
            }
        };
        if key >> 3 == 0 {
            return Err(start.error("a field numbered zero".to_owned()));
        }
        Ok(Some((key >> 3, value)))
    }

    #[inline(always)]
    fn array<const SIZE: usize>(&mut self) -> Result<[u8; SIZE]> {
        match self.bytes().first_chunk::<SIZE>() {
            Some(chunk) => {
                self.position += SIZE;
                Ok(*chunk)
            }
            None => Err(self.error(format!("truncated in a number of {SIZE} bytes"))),
        }
    }
}
