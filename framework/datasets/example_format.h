#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets::example_format {

// A file of examples; numbers are little-endian.
//
// Header: "KUSARIEX", version (u32), number of keys (u32), each key's length (u32) and bytes, CRC-32 of all that (u32).
//
// Records, one per example: length of the content (u64), its CRC-32 (u32), the content. That is the number of arrays
// (u32); then of each its dtype (u8), number of axes (u8) and sizes (i64 each), and its elements in C order.
//
// Index: offset of each record (u64).
//
// Trailer: number of records (u64), offset of the index (u64), CRC-32 of the index and these two (u32), "KUSARIIX".

inline constexpr size_t kRecordHeader = 12;
inline constexpr size_t kTrailer = 28;

/// Appends to `out`.
void write_header(const Keys& keys, std::string* out);
void write_record(const Example& example, std::string* out);
void write_index(std::span<const uint64_t> offsets, uint64_t index_offset, std::string* out);

struct Header {
  Keys keys;
  uint64_t size = 0;  // in the file
};
struct RecordHeader {
  uint64_t size = 0;  // of the content
  uint32_t crc = 0;
};
struct Trailer {
  uint64_t count = 0;
  uint64_t index_offset = 0;
  uint32_t crc = 0;
};

/// Reading gives false, and in *problem what was expected and what came, when the bytes are something else.
/// `start`: the beginning of the file, all of it or more bytes than a header can have.
bool read_header(std::span<const uint8_t> start, Header* header, std::string* problem);
RecordHeader read_record_header(std::span<const uint8_t> bytes);
bool read_record(std::span<const uint8_t> content, Example* example, std::string* problem);
bool read_trailer(std::span<const uint8_t> bytes, Trailer* trailer, std::string* problem);
/// `index`: with the count and the offset from the trailer after it.
std::vector<uint64_t> read_index(std::span<const uint8_t> index, uint64_t count);

uint32_t crc_of(std::span<const uint8_t> bytes);

/// More than any header has.
inline constexpr size_t kMaxHeader = size_t{1} << 20;

}  // namespace kusari::datasets::example_format
