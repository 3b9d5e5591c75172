//! CRC-32C (Castagnoli), the checksum that btrfs has by default: a table of eight bytes at a time,
//! without instructions of one architecture.

/// The polynomial 0x1EDC6F41, its bits reversed.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// `TABLES[k][byte]`: what `byte` does to the checksum when `k` more bytes follow it.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u32;
        let mut follows = 0;
        while follows < 8 {
            value = next_byte(value);
            tables[follows][byte] = value;
            follows += 1;
        }
        byte += 1;
    }
    tables
}

/// Eight steps of the shift register.
const fn next_byte(mut value: u32) -> u32 {
    let mut bit = 0;
    while bit < 8 {
        value = (value >> 1) ^ if value & 1 == 1 { POLYNOMIAL } else { 0 };
        bit += 1;
    }
    value
}

/// The checksum of `bytes`.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<8>();
    let value = words.iter().fold(!0, |value, &word| eight(value, word));
    !rest.iter().fold(value, |value, &byte| one(value, byte))
}

fn eight(value: u32, word: [u8; 8]) -> u32 {
    let word = u64::from_le_bytes(word) ^ u64::from(value);
    let places = word.to_le_bytes().into_iter().zip(TABLES.iter().rev());
    places.fold(0, |sum, (byte, table)| sum ^ table[usize::from(byte)])
}

fn one(value: u32, byte: u8) -> u32 {
    (value >> 8) ^ TABLES[0][usize::from(value as u8 ^ byte)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // The check value of the catalogues, and three of RFC 3720, appendix B.4.
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        let counting: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&counting), 0x46DD_794E);
        assert_eq!(crc32c(&[]), 0);
    }
}
