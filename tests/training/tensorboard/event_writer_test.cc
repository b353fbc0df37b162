#include "kusari/framework/training/tensorboard/event_writer.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/training/tensorboard/crc32c.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari::training::tensorboard;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;

namespace {

/// The records of an event file, their lengths and CRCs checked; of each, what follows the time stamp.
std::vector<std::string> events(const std::string& path) {
  const std::string file = read_file(path);
  std::vector<std::string> result;
  for (size_t at = 0; at < file.size();) {
    uint64_t size = 0;
    uint32_t crc = 0;
    REQUIRE(at + 12 <= file.size());
    std::memcpy(&size, file.data() + at, 8);
    std::memcpy(&crc, file.data() + at + 8, 4);
    CHECK(crc == masked_crc32c(file.substr(at, 8)));
    REQUIRE(at + 16 + size <= file.size());
    const std::string data = file.substr(at + 12, size);
    std::memcpy(&crc, file.data() + at + 12 + size, 4);
    CHECK(crc == masked_crc32c(data));
    REQUIRE(data[0] == 0x09);  // field 1, a double
    result.push_back(data.substr(9));
    at += 16 + size;
  }
  return result;
}

std::string bytes(std::initializer_list<int> values) {
  std::string result;
  for (const int value : values) result += static_cast<char>(value);
  return result;
}

}  // namespace

// Expected bytes by hand from the .proto files of TensorFlow and the encoding of Protocol Buffers.
TEST_CASE("EventWriter writes scalars") {
  const ScratchDirectory dir;
  std::string path;
  {
    EventWriter writer(dir / "run");
    path = writer.path();
    writer.add_scalar("a/loss", 0.5, 300);
  }
  CHECK(std::filesystem::path(path).filename().string().rfind("events.out.tfevents.", 0) == 0);
  const auto found = events(path);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == bytes({0x1A, 13}) + "brain.Event:2");
  // step 300; summary { value { tag, simple_value } }
  CHECK(found[1] == bytes({0x10, 0xAC, 0x02, 0x2A, 15, 0x0A, 13, 0x0A, 6}) + "a/loss" + bytes({0x15, 0, 0, 0, 0x3F}));
}

TEST_CASE("EventWriter writes texts") {
  const ScratchDirectory dir;
  EventWriter writer(dir.path(), {.flush_seconds = 0});
  writer.add_text("t", "hi", 1);
  // tensor { dtype: DT_STRING, shape { dim { size: 1 } }, string_val }, metadata { plugin_data { plugin_name } }
  const std::string tensor = bytes({0x08, 7, 0x12, 4, 0x12, 2, 0x08, 1, 0x42, 2}) + "hi";
  const std::string value =
      bytes({0x0A, 1}) + "t" + bytes({0x42, 12}) + tensor + bytes({0x4A, 8, 0x0A, 6, 0x0A, 4}) + "text";
  const auto found = events(writer.path());
  REQUIRE(found.size() == 2);
  CHECK(found[1] == bytes({0x10, 1, 0x2A, 29, 0x0A, 27}) + value);
}

TEST_CASE("EventWriter counts histograms in TensorFlow's buckets") {
  const ScratchDirectory dir;
  EventWriter writer(dir.path(), {.flush_seconds = 0});
  writer.add_histogram("h", std::vector<double>{0, 0, 5e-13, -3, NAN, INFINITY}, 7);
  writer.add_histogram("h", std::vector<double>{NAN}, 8);  // nothing
  writer.add_histogram("h", {}, 9);
  const auto found = events(writer.path());
  REQUIRE(found.size() == 2);
  const std::string& event = found[1];
  const size_t histogram = event.find(bytes({0x0A, 1}) + "h*") + 6;  // tag; field 5 and its length, 129
  std::vector<double> head;                                          // min, max, num, sum, sum_squares
  for (size_t i = 0; i < 5; ++i) {
    REQUIRE(event[histogram + 9 * i] == static_cast<char>((i + 1) << 3 | 1));
    double number = 0;
    std::memcpy(&number, event.data() + histogram + 9 * i + 1, 8);
    head.push_back(number);
  }
  CHECK(head == std::vector<double>{-3, 5e-13, 4, -3 + 5e-13, 9 + 25e-26});
  const auto packed = [&](size_t at, char field) {
    REQUIRE(event[at] == field);
    std::vector<double> numbers(static_cast<size_t>(event[at + 1]) / 8);
    std::memcpy(numbers.data(), event.data() + at + 2, 8 * numbers.size());
    return numbers;
  };
  const size_t limits_at = histogram + 45;
  const std::vector<double> limits = packed(limits_at, 0x32);
  const std::vector<double> counts = packed(limits_at + 2 + 8 * limits.size(), 0x3A);
  // Up to -3's bucket nothing; -3; nothing up to and below 0; [0, 1e-12); nothing.
  CHECK(counts == std::vector<double>{0, 1, 0, 3, 0});
  REQUIRE(limits.size() == 5);
  CHECK(limits[0] <= -3);
  CHECK(limits[1] > -3);
  CHECK(limits[1] / limits[0] == doctest::Approx(1 / 1.1));
  CHECK(limits[2] == 0);
  CHECK(limits[3] == 1e-12);
  CHECK(limits[4] == std::numeric_limits<double>::max());
}

TEST_CASE("EventWriter of a run that goes on says from where") {
  const ScratchDirectory dir;
  const EventWriter writer(dir.path(), {.first_step = 11});
  const auto found = events(writer.path());
  REQUIRE(found.size() == 2);
  CHECK(found[1] == bytes({0x10, 11, 0x3A, 2, 0x08, 1}));  // session_log { status: START }
}

TEST_CASE("EventWriter makes a file of its own each time, and flushes when it is told to") {
  const ScratchDirectory dir;
  EventWriter first(dir.path(), {.flush_seconds = 1e9}), second(dir.path());
  CHECK(first.path() != second.path());
  CHECK(dir.count() == 2);
  first.add_scalar("a", 1, 1);
  CHECK(events(first.path()).size() == 1);
  first.flush();
  CHECK(events(first.path()).size() == 2);
  kusari::testing::write_file(dir / "file", "");
  CHECK_THROWS_WITH_AS(EventWriter(dir / "file"), doctest::Contains("tensorboard::EventWriter: cannot make the"),
                       kusari::IoError);
}
