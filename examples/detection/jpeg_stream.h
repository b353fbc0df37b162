#pragma once

// JPEG files that follow each other in a stream, as camera grabbers write them.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <kusari/kusari.h>

// Cuts a stream at the ends of its JPEG files. Segments are passed over by their lengths, so that a small picture
// inside a large one's EXIF data does not end it.
class JpegStream {
 public:
  explicit JpegStream(std::FILE* stream) : stream_{stream} {}

  // The bytes of the next file; none at the end of the stream. Throws IoError for what is no JPEG file, and for one
  // that is cut off.
  std::optional<std::vector<uint8_t>> next() {
    file_.clear();
    const int first = std::getc(stream_);
    if (first == EOF) return std::nullopt;
    file_.push_back(static_cast<uint8_t>(first));
    ++count_;
    if (first != 0xFF || byte() != kBegin) fail("does not begin as a JPEG file does");
    for (int marker = next_marker(); marker != kEnd; marker = marker == kScan ? skip_scan() : next_marker()) {
      if (marker == kBegin) fail("begins again before it ends");
      if (has_length(marker)) skip_segment();
    }
    return file_;
  }
  // False after next() has thrown: where the next file begins is not known then.
  bool is_sound() const { return is_sound_; }

 private:
  static constexpr int kBegin = 0xD8, kEnd = 0xD9, kScan = 0xDA, kFirstRestart = 0xD0, kLastRestart = 0xD7;

  static bool has_length(int marker) { return marker != 0x01 && !(marker >= kFirstRestart && marker <= kEnd); }

  [[noreturn]] void fail(const std::string& what) {
    is_sound_ = false;
    throw kusari::IoError("standard input: image " + std::to_string(count_ - 1) + " " + what);
  }
  int byte() {
    const int value = std::getc(stream_);
    if (value == EOF) fail("is cut off after " + std::to_string(file_.size()) + " bytes");
    file_.push_back(static_cast<uint8_t>(value));
    return value;
  }
  // A marker is 0xFF, once or several times, and a byte that says which.
  int next_marker() {
    if (byte() != 0xFF) fail("has no marker at byte " + std::to_string(file_.size() - 1));
    int marker = byte();
    while (marker == 0xFF) marker = byte();
    return marker;
  }
  void skip_segment() {
    const int high = byte(), length = high * 256 + byte();
    if (length < 2) fail("has a segment of length " + std::to_string(length));
    for (int i = 2; i < length; ++i) byte();
  }
  // The header of a scan was passed over; in its pixels 0xFF stands before 0, or before a restart's number. Returns the
  // marker that ends them.
  int skip_scan() {
    while (true) {
      if (byte() != 0xFF) continue;
      int marker = byte();
      while (marker == 0xFF) marker = byte();
      if (marker != 0 && !(marker >= kFirstRestart && marker <= kLastRestart)) return marker;
    }
  }

  std::FILE* stream_;
  std::vector<uint8_t> file_;
  int64_t count_ = 0;
  bool is_sound_ = true;
};
