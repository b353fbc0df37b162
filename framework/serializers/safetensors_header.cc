#include "kusari/framework/serializers/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "kusari/framework/core/error.h"

namespace kusari::serializers {
namespace {

constexpr SafetensorsType kTypes[] = {
    {"BOOL", 1, Dtype::bool_},    {"U8", 1, Dtype::uint8},     {"I8", 1, Dtype::int8},
    {"I16", 2, Dtype::int32},     {"U16", 2, Dtype::int32},    {"I32", 4, Dtype::int32},
    {"U32", 4, Dtype::int64},     {"I64", 8, Dtype::int64},    {"F16", 2, Dtype::float16},
    {"BF16", 2, Dtype::bfloat16}, {"F32", 4, Dtype::float32},  {"F64", 8, Dtype::float64},
    {"U64", 8, std::nullopt},     {"C64", 8, std::nullopt},    {"F8_E4M3", 1, std::nullopt},
    {"F8_E5M2", 1, std::nullopt}, {"F8_E8M0", 1, std::nullopt}};

/// Takes the header as it is parsed, and nothing that is not a header: a tree of whatever stands there could be many
/// times larger than the file.
class HeaderHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderHandler(SafetensorsHeader& header, std::string& problem) : header_{header}, problem_{problem} {}

  bool start_object(std::size_t) override {
    if (state_ == State::start) return enter(State::tensors);
    if (state_ != State::tensor_key) return unexpected("an object");
    if (key_ == "__metadata__") return enter(State::metadata);
    if (!names_.insert(key_).second) return fail("names the tensor '" + key_ + "' twice");
    header_.entries.emplace_back();
    header_.entries.back().key = key_;
    has_dtype_ = has_shape_ = has_offsets_ = false;
    return enter(State::tensor);
  }
  bool key(string_t& text) override {
    if (state_ == State::tensors) {
      key_ = text;
      return enter(State::tensor_key);
    }
    if (state_ == State::metadata) {
      metadata_key_ = text;
      return enter(State::metadata_key);
    }
    const auto once = [&](bool& has, State next) {
      if (has) return fail("says '" + text + "' twice of '" + key_ + "'");
      has = true;
      return enter(next);
    };
    if (text == "dtype") return once(has_dtype_, State::dtype);
    if (text == "shape") return once(has_shape_, State::shape_key);
    if (text == "data_offsets") return once(has_offsets_, State::offsets_key);
    return fail("says '" + text + "' of '" + key_ + "': it may say dtype, shape and data_offsets");
  }
  bool string(string_t& text) override {
    if (state_ == State::metadata_key) {
      if (!header_.metadata.emplace(metadata_key_, text).second) {
        return fail("has the metadata '" + metadata_key_ + "' twice");
      }
      return enter(State::metadata);
    }
    if (state_ != State::dtype) return unexpected("a string");
    header_.entries.back().dtype = text;
    return enter(State::tensor);
  }
  bool start_array(std::size_t) override {
    if (state_ == State::shape_key) return enter(State::shape);
    if (state_ != State::offsets_key) return unexpected("an array");
    offsets_ = 0;
    return enter(State::offsets);
  }
  bool number_unsigned(number_unsigned_t number) override {
    SafetensorsEntry* const entry = header_.entries.empty() ? nullptr : &header_.entries.back();
    if (state_ == State::shape) {
      if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return fail("has the size " + std::to_string(number) + " in the shape of '" + key_ + "'");
      }
      entry->shape.push_back(static_cast<int64_t>(number));
      return true;
    }
    if (state_ != State::offsets || offsets_ == 2) return unexpected("a number");
    (offsets_++ == 0 ? entry->begin : entry->end) = number;
    return true;
  }
  bool end_array() override {
    if (state_ == State::offsets && offsets_ != 2) return fail("has not two data_offsets for '" + key_ + "'");
    return enter(State::tensor);
  }
  bool end_object() override {
    if (state_ == State::tensors) return enter(State::end);
    if (state_ == State::tensor && !(has_dtype_ && has_shape_ && has_offsets_)) {
      return fail("lacks dtype, shape or data_offsets of '" + key_ + "'");
    }
    return enter(State::tensors);
  }

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a truth value"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return unexpected("a number with a point"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    return fail("is no JSON from byte " + std::to_string(position) + " on");
  }

 private:
  enum class State {
    start,
    tensors,
    tensor_key,
    tensor,
    dtype,
    shape_key,
    shape,
    offsets_key,
    offsets,
    metadata,
    metadata_key,
    end
  };

  bool enter(State state) {
    state_ = state;
    return true;
  }
  bool fail(const std::string& problem) {
    problem_ = problem;
    return false;
  }
  bool unexpected(const std::string& what) {
    return fail("has " + what + " where none may be" + (key_.empty() ? "" : ", at '" + key_ + "'"));
  }

  SafetensorsHeader& header_;
  std::string& problem_;
  State state_ = State::start;
  std::string key_, metadata_key_;
  std::set<std::string> names_;
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  int offsets_ = 0;
};

/// The bytes that a tensor should have; none when there are more than 2^56, so that strides cannot overflow either.
std::optional<uint64_t> expected_size(const SafetensorsEntry& entry, const SafetensorsType& type) {
  int64_t bound = type.size;
  bool is_empty = false;
  for (const int64_t n : entry.shape) {
    if (n > 0 && bound > (int64_t{1} << 56) / n) return std::nullopt;
    bound *= std::max<int64_t>(n, 1);
    is_empty |= n == 0;
  }
  return is_empty ? 0 : static_cast<uint64_t>(bound);
}

}  // namespace

uint64_t safetensors_length(const uint8_t* bytes) noexcept {
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | bytes[i];
  return length;
}

const SafetensorsType* find_safetensors_type(std::string_view name) noexcept {
  const auto* const found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const SafetensorsType& t) { return t.name == name; });
  return found == std::end(kTypes) ? nullptr : found;
}

std::string_view safetensors_type(Dtype dtype) noexcept {
  const auto* const found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const SafetensorsType& t) {
    return t.dtype == dtype && t.size == itemsize(dtype);
  });
  return found->name;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_size, const std::string& place) {
  SafetensorsHeader header;
  std::string problem;
  HeaderHandler handler(header, problem);
  if (json.find('\0') != json.npos) throw IoError(place + "the header has a byte 0");  // where the parser would end
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &handler)) throw IoError(place + "the header " + problem);
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
                     return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                   });
  uint64_t end = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    const std::string tensor = place + "tensor '" + entry.key + "' ";
    const SafetensorsType* const type = find_safetensors_type(entry.dtype);
    if (type == nullptr) throw IoError(tensor + "has the unknown dtype '" + entry.dtype + "'");
    const std::string range = "[" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + ")";
    if (entry.begin != end || entry.end < entry.begin || entry.end > data_size) {
      throw IoError(tensor + "has the bytes " + range + ": they must begin at " + std::to_string(end) +
                    " and end within " + std::to_string(data_size));
    }
    const std::optional<uint64_t> expected = expected_size(entry, *type);
    if (!expected || *expected != entry.end - entry.begin) {
      throw IoError(tensor + "has the bytes " + range + ", but its dtype and shape make " +
                    (expected ? std::to_string(*expected) : std::string("too many")));
    }
    end = entry.end;
  }
  if (end != data_size) {
    throw IoError(place + "the file has " + std::to_string(data_size) + " bytes of data, but its tensors have " +
                  std::to_string(end));
  }
  return header;
}

}  // namespace kusari::serializers
