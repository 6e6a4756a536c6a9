//! Decodes the protobuf wire format in place, without copies and recursion. Errors have byte
//! offsets.

/// The offset at which a protobuf message is invalid, and the reason.
#[derive(Debug, PartialEq, Eq)]
pub struct WireError {
    /// Offset of the invalid byte from the start of the file.
    pub offset: usize,
    /// Why the message is invalid.
    pub reason: String,
}

/// The result of a decoding step. Errors are boxed to keep results small, since errors are rare.
pub type Result<T> = std::result::Result<T, Box<WireError>>;

/// The value of one field of a message.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// Wire type 0: integers, booleans, enumerations.
    Varint(u64),
    /// Wire type 1: eight bytes.
    Fixed64(u64),
    /// Wire type 2: text, bytes or a nested message.
    Block(Message<'a>),
    /// Wire type 5: four bytes. No field that this crate uses has this type.
    Fixed32,
}

/// The bytes of one protobuf message that are not decoded yet. Fields are read one by one.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    file: &'a [u8],
    position: usize,
    /// Offset of the end of the message in the file, never beyond the file.
    end: usize,
}

impl<'a> Message<'a> {
    /// Creates the message that consists of all bytes of a file.
    pub fn whole(file: &'a [u8]) -> Self {
        Self {
            file,
            position: 0,
            end: file.len(),
        }
    }

    /// The bytes of the message that are not decoded yet.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        &self.file[self.position..self.end]
    }

    /// Offset of the next byte in the file.
    pub fn offset(&self) -> usize {
        self.position
    }

    /// Whether all bytes of the message are decoded.
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

    /// Decodes a varint and advances past it.
    #[inline(always)]
    pub fn varint(&mut self) -> Result<u64> {
        // Nearly every tag and length is a single byte.
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

    /// Returns the next `length` bytes as a nested message and advances past them.
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

    /// If the next field has the tag byte `tag` and all its bytes are present, returns the field
    /// and advances past it. Otherwise returns None and does not advance.
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

    /// Does the work of `block_of` for a field whose length is encoded in more than one byte.
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

    /// Decodes the next field and returns (field number, value); None at the end of the message.
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
