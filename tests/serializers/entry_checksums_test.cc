#include "kusari/framework/serializers/entry_checksums.h"

#include <functional>
#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/serializers/safetensors.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari;
using serializers::Dictionary;
using serializers::Entry;

namespace {

Dictionary kinds_of_entries() {
  return {{"a/W", Entry{array<float>({1, -0.0f, 3, 4, 5, 6}, {2, 3}).transpose()}},
          {"a/half", Entry{array<float>({1, 2}, {2}).astype(Dtype::float16)}},
          {"a/bfloat", Entry{array<float>({1, 2}, {2}).astype(Dtype::bfloat16)}},
          {"flag", Entry{array<bool>({true}, Shape{})}},
          {"bytes", Entry{array<uint8_t>({1, 2, 3}, {3})}},
          {"t", Entry{array<int64_t>({7}, Shape{})}},
          {"empty", Entry{zeros({0, 3})}},
          {"none", Entry{}},
          {"no text", Entry{Array(), "", true}},
          {"text", Entry{Array(), std::string("\xc3\xbc\xf0\x9f\x90\x8d\n\0", 8), true}},
          {"two\nlines", Entry{full({1000000}, 2, Dtype::float64)}}};
}

/// What is said of a file of these entries after something was done to them; "" for nothing.
std::string complaint(const std::function<void(Dictionary&)>& change) {
  const testing::ScratchDirectory dir;
  Dictionary entries = serializers::with_checksums(kinds_of_entries());
  change(entries);
  serializers::save_npz_dictionary(dir / "x.npz", entries);
  try {
    serializers::verify_checksums(serializers::NpzReader(dir / "x.npz"));
    return "";
  } catch (const IoError& error) {
    return error.what();
  }
}

bool names(const std::string& text, const std::string& what) { return text.find(what) != text.npos; }

}  // namespace

TEST_CASE("checksums of entries hold for what is read from a file, in any order") {
  CHECK(complaint([](Dictionary&) {}) == "");
  CHECK(complaint([](Dictionary& entries) { std::swap(entries.front(), entries.back()); }) == "");
  const testing::ScratchDirectory dir;
  Dictionary entries = serializers::with_checksums(kinds_of_entries());
  std::erase_if(entries, [](const auto& entry) { return entry.first == "two\nlines"; });
  entries.pop_back();
  serializers::save_safetensors_dictionary(dir / "x.safetensors", serializers::with_checksums(entries));
  CHECK_NOTHROW(serializers::verify_checksums(serializers::SafetensorsReader(dir / "x.safetensors")));
}

TEST_CASE("checksums of entries notice each change") {
  const size_t n = kinds_of_entries().size();
  for (size_t i = 0; i < n; ++i) {
    const std::string key = kinds_of_entries()[i].first;
    CAPTURE(key);
    CHECK(names(complaint([&](Dictionary& entries) { entries.erase(entries.begin() + static_cast<int64_t>(i)); }),
                "entry '" + key + "' was removed"));
    for (const Entry& other : {Entry{Array(), "x", true}, Entry{zeros({3, 2})}, Entry{zeros({0, 4})},
                               Entry{array<int64_t>({8}, Shape{})}, Entry{zeros({0, 3}, Dtype::float64)}}) {
      CHECK(names(complaint([&](Dictionary& entries) { entries[i].second = other; }), "' was changed"));
    }
    if (key != "none") CHECK(names(complaint([&](Dictionary& entries) { entries[i].second = {}; }), "' was changed"));
  }
  CHECK(names(complaint([](Dictionary& entries) { entries[0].second.array.at(0).at(1).fill(0.5); }),
              "entry 'a/W' was changed"));
  CHECK(names(complaint([](Dictionary& entries) { entries.emplace_back("new", Entry{zeros({})}); }),
              "entry 'new' was added"));
  for (const char* odd : {"", "12", "[]", "{\"a/W\": {}}", "{\"a/W\": 7}"}) {
    CHECK(names(complaint([&](Dictionary& entries) { entries.back().second.text = odd; }), "' was changed"));
  }
  CHECK(
      names(complaint([](Dictionary& entries) { entries.back().second.text = std::string(100000, '['); }), "changed"));
  CHECK(complaint([](Dictionary& entries) { entries.pop_back(); }) == "");
}
