#include "kusari/framework/serializers/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/entries_read.h"

namespace kusari::serializers {
namespace {

static_assert(std::endian::native == std::endian::little, "the numbers in memory are written as they are");

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicSize = 6;
constexpr uint32_t kMaxHeaderSize = 1 << 16;
constexpr size_t kMaxPickleSize = 1 << 12;  // a pickled None has 141 bytes
constexpr size_t kNpyAlignment = 64;        // of the data, numpy.lib.format.ARRAY_ALIGN
constexpr size_t kGrowthDigits = 21;        // numpy.lib.format.GROWTH_AXIS_MAX_DIGITS

// pickle.dumps(numpy.array(None, dtype=object), protocol=3) of NumPy 1.24.
constexpr char kPickledNone[] =
    "\x80\x03"
    "cnumpy.core.multiarray\n_reconstruct\nq\x00"
    "cnumpy\nndarray\nq\x01K\x00\x85q\x02"
    "C\x01"
    "bq\x03\x87q\x04Rq\x05(K\x01)"
    "cnumpy\ndtype\nq\x06X\x02\x00\x00\x00"
    "O8q\x07\x89\x88\x87q\x08Rq\t(K\x03X\x01\x00\x00\x00|q\nNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tq\x0b"
    "b\x89]q\x0cNatq\rb.";
constexpr std::string_view kPickledNoneBytes(kPickledNone, sizeof(kPickledNone) - 1);

/// The Python dictionary of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (5, 4), }.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string where) : text_{text}, where_{std::move(where)} {}

  NpyHeader parse() {
    bool have_descr = false, have_order = false, have_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !have_descr) {
        if (peek() == '[') fail("has a structured dtype, which cannot be read");
        header_.descr = string();
        have_descr = true;
      } else if (key == "fortran_order" && !have_order) {
        header_.fortran_order = boolean();
        have_order = true;
      } else if (key == "shape" && !have_shape) {
        shape();
        have_shape = true;
      } else {
        fail("has an unexpected key '" + key + "' in its header");
      }
      if (!take(',') && peek() != '}') malformed();
    }
    skip_space();
    if (at_ != text_.size() || !have_descr || !have_order || !have_shape) malformed();
    set_dtype();
    return header_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw IoError("npy: " + where_ + " " + what); }
  [[noreturn]] void malformed() const { fail("has a malformed header at character " + std::to_string(at_)); }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) malformed();
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed();
    const size_t end = text_.find(quote, ++at_);
    if (end == text_.npos) malformed();
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair{std::string_view("False"), false}, {std::string_view("True"), true}}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    malformed();
  }
  int64_t integer() {
    skip_space();
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) malformed();
    at_ += static_cast<size_t>(end - begin);
    take('L');  // Python 2 wrote (5L, 4L)
    return value;
  }
  void shape() {
    expect('(');
    int64_t bound = 1;  // on the product of the sizes that are not 0, so that strides cannot overflow either
    while (!take(')')) {
      const int64_t n = integer();
      if (header_.shape.ndim() == kMaxNdim) fail("has more than " + std::to_string(kMaxNdim) + " axes");
      header_.shape.push_back(n);
      if (n > 0 && bound > (int64_t{1} << 56) / n) fail("has a shape with too many elements");
      bound *= std::max<int64_t>(n, 1);
      if (!take(',') && peek() != ')') malformed();
    }
  }

  void set_dtype() {
    struct Type {
      std::string_view code;
      Dtype dtype;
    };
    static constexpr Type kTypes[] = {{"b1", Dtype::bool_},   {"i1", Dtype::int8},    {"i2", Dtype::int32},
                                      {"i4", Dtype::int32},   {"i8", Dtype::int64},   {"u1", Dtype::uint8},
                                      {"u2", Dtype::int32},   {"u4", Dtype::int64},   {"u8", Dtype::int64},
                                      {"f2", Dtype::float16}, {"f4", Dtype::float32}, {"f8", Dtype::float64},
                                      {"V2", Dtype::bfloat16}};
    const std::string& descr = header_.descr;
    const std::string_view code = std::string_view(descr).substr(descr.empty() ? 0 : 1);
    if (descr.empty() || !std::strchr("<>|=", descr[0])) unknown_dtype();
    header_.big_endian = descr[0] == '>';
    if (code == "O") {
      if (header_.shape.ndim() != 0) fail("is an array of Python objects: of these only a single None can be read");
      header_.kind = NpyKind::none;
      return;
    }
    if (code.size() > 1 && code[0] == 'U') {
      header_.kind = NpyKind::text;
      const auto [end, error] = std::from_chars(code.data() + 1, code.data() + code.size(), header_.item_size);
      if (error != std::errc() || end != code.data() + code.size() || header_.item_size < 0 ||
          header_.item_size > (int64_t{1} << 40)) {
        unknown_dtype();
      }
      header_.item_size *= 4;
      if (header_.shape.ndim() != 0) fail("is an array of strings: only a single string can be read");
      return;
    }
    const auto* type =
        std::find_if(std::begin(kTypes), std::end(kTypes), [&](const Type& t) { return t.code == code; });
    if (type == std::end(kTypes)) unknown_dtype();
    header_.dtype = type->dtype;
    header_.item_size = code[1] - '0';
  }

  [[noreturn]] void unknown_dtype() const {
    fail("has dtype '" + header_.descr +
         "': it must be b1, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8, V2 (bfloat16), U or O");
  }

  std::string_view text_;
  std::string where_;
  size_t at_ = 0;
  NpyHeader header_;
};

void swap_bytes(char* data, int64_t count, int64_t item_size) {
  for (int64_t i = 0; i < count && item_size > 1; ++i) std::reverse(data + i * item_size, data + (i + 1) * item_size);
}

/// Fortran order to C order.
template <class T>
void transpose(const T* in, const Shape& shape, T* out) {
  const int n = shape.ndim();
  Shape index = Shape::filled(n, 0);
  Strides step = Strides::filled(n, 1);
  for (int i = 1; i < n; ++i) step[i] = step[i - 1] * shape[i - 1];
  const int64_t count = numel(shape);
  int64_t from = 0;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = in[from];
    for (int axis = n - 1; axis >= 0; --axis) {
      from += step[axis];
      if (++index[axis] < shape[axis]) break;
      from -= step[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

void append_utf8(std::string& out, uint32_t c) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  }
}

bool is_code_point(uint32_t c) { return c < 0x110000 && (c < 0xD800 || c > 0xDFFF); }

/// Code points of UTF-8; overlong forms, surrogates and cut sequences throw ValueError.
std::vector<uint32_t> decode_utf8(std::string_view text) {
  std::vector<uint32_t> points;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const int length = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 0;
    static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t c = length == 1 ? lead : lead & (0xFFu >> (length + 1));
    bool valid = length > 0 && i + static_cast<size_t>(length) <= text.size();
    for (int k = 1; valid && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + static_cast<size_t>(k)]);
      valid = (next & 0xC0) == 0x80;
      c = c << 6 | (next & 0x3F);
    }
    if (!valid || c < kLeast[length] || !is_code_point(c)) {
      throw ValueError("npy: a string to be written is not UTF-8 at byte " + std::to_string(i));
    }
    points.push_back(c);
    i += static_cast<size_t>(length);
  }
  return points;
}

}  // namespace

NpyHeader read_npy_header(ByteSource& source) {
  const auto fail = [&](const std::string& what) { throw IoError("npy: " + source.describe() + " " + what); };
  char start[kMagicSize + 2];
  if (source.remaining() < sizeof(start) + 2) fail("is no .npy file: it is too short");
  source.read(start, sizeof(start));
  if (std::memcmp(start, kMagic, kMagicSize) != 0) fail("is no .npy file: it does not begin with \\x93NUMPY");
  const int major = static_cast<unsigned char>(start[kMagicSize]);
  if (major < 1 || major > 3) fail("has format version " + std::to_string(major) + ": only 1 to 3 can be read");
  const size_t width = major == 1 ? 2 : 4;
  unsigned char length_bytes[4] = {};
  if (source.remaining() < width) fail("has no whole header");
  source.read(length_bytes, width);
  const uint32_t length = length_bytes[0] | uint32_t{length_bytes[1]} << 8 | uint32_t{length_bytes[2]} << 16 |
                          uint32_t{length_bytes[3]} << 24;
  if (length > kMaxHeaderSize) fail("has a header of " + std::to_string(length) + " bytes, which is too long");
  if (length > source.remaining()) fail("has no whole header");
  std::string text(length, '\0');
  source.read(text.data(), length);
  NpyHeader header = HeaderParser(text, source.describe()).parse();
  if (header.kind != NpyKind::none) {
    const uint64_t size = static_cast<uint64_t>(numel(header.shape)) * static_cast<uint64_t>(header.item_size);
    if (source.remaining() != size) {
      fail("has " + std::to_string(source.remaining()) + " bytes of data, but shape " + to_string(header.shape) +
           " and dtype '" + header.descr + "' make " + std::to_string(size));
    }
  }
  return header;
}

void read_npy_numbers(ByteSource& source, const NpyHeader& header, void* out) {
  if (header.kind != NpyKind::numbers) throw IoError("npy: " + source.describe() + " holds no numbers");
  const int64_t count = numel(header.shape);
  if (count == 0) return;
  const int64_t size = count * header.item_size;
  const char code = header.descr[1];
  const bool widens = header.item_size != itemsize(header.dtype) || (code == 'u' && header.item_size == 8);
  const bool transposes = header.fortran_order && header.shape.ndim() > 1;
  char* raw = static_cast<char*>(out);
  std::vector<char> buffer;
  if (widens || transposes) {
    buffer.resize(static_cast<size_t>(size));
    raw = buffer.data();
  }
  source.read(raw, static_cast<size_t>(size));
  if (header.big_endian) swap_bytes(raw, count, header.item_size);
  if (header.dtype == Dtype::bool_) {
    for (int64_t i = 0; i < size; ++i) raw[i] = raw[i] != 0;  // other values are no bool in C++
  }
  std::vector<char> widened;
  if (widens) {
    char* to = static_cast<char*>(out);
    if (transposes) {
      widened.resize(static_cast<size_t>(count * itemsize(header.dtype)));
      to = widened.data();
    }
    if (code == 'i') {
      widen<int16_t, int32_t>(raw, count, to);
    } else if (header.item_size == 2) {
      widen<uint16_t, int32_t>(raw, count, to);
    } else if (header.item_size == 4) {
      widen<uint32_t, int64_t>(raw, count, to);
    } else {
      widen<uint64_t, int64_t>(raw, count, to);
      const int64_t* values = reinterpret_cast<const int64_t*>(to);
      if (std::any_of(values, values + count, [](int64_t v) { return v < 0; })) {
        throw IoError("npy: " + source.describe() + " has dtype uint64 and a value that does not fit int64");
      }
    }
    raw = to;
  }
  if (transposes) {
    switch (itemsize(header.dtype)) {
      case 1:
        return transpose(reinterpret_cast<const uint8_t*>(raw), header.shape, static_cast<uint8_t*>(out));
      case 2:
        return transpose(reinterpret_cast<const uint16_t*>(raw), header.shape, static_cast<uint16_t*>(out));
      case 4:
        return transpose(reinterpret_cast<const uint32_t*>(raw), header.shape, static_cast<uint32_t*>(out));
      default:
        return transpose(reinterpret_cast<const uint64_t*>(raw), header.shape, static_cast<uint64_t*>(out));
    }
  }
}

std::string read_npy_text(ByteSource& source, const NpyHeader& header) {
  if (header.kind != NpyKind::text) throw IoError("npy: " + source.describe() + " holds no string");
  std::string raw(static_cast<size_t>(header.item_size), '\0');
  source.read(raw.data(), raw.size());
  if (header.big_endian) swap_bytes(raw.data(), header.item_size / 4, 4);
  while (raw.size() >= 4 && std::string_view(raw).substr(raw.size() - 4) == std::string_view("\0\0\0\0", 4)) {
    raw.resize(raw.size() - 4);  // NumPy fills strings with zeros
  }
  std::string text;
  for (size_t i = 0; i < raw.size(); i += 4) {
    uint32_t c = 0;
    std::memcpy(&c, raw.data() + i, 4);
    if (!is_code_point(c)) throw IoError("npy: " + source.describe() + " holds a string that is not Unicode");
    append_utf8(text, c);
  }
  return text;
}

void read_npy_none(ByteSource& source, const NpyHeader& header) {
  const size_t size = static_cast<size_t>(std::min<uint64_t>(source.remaining(), kMaxPickleSize + 1));
  std::string pickle(size, '\0');
  if (header.kind == NpyKind::none) source.read(pickle.data(), size);
  // A pickled array ends with the list of its items: "]", memo, None, append, tuple, memo, build, stop. The memo is
  // "q" and a byte before protocol 4, "\x94" from then on.
  const auto ends_with = [&](std::string_view memo) {
    std::string tail = "]" + std::string(memo) + "Nat" + std::string(memo) + "b.";
    if (pickle.size() < tail.size()) return false;
    const std::string_view end = std::string_view(pickle).substr(pickle.size() - tail.size());
    return std::equal(end.begin(), end.end(), tail.begin(), [](char a, char b) { return b == '?' || a == b; });
  };
  const bool is_none =
      pickle.find("_reconstruct") != std::string::npos && (ends_with("q?") || ends_with("\x94") || ends_with(""));
  if (header.kind != NpyKind::none || !is_none) {
    throw IoError("npy: " + source.describe() + " holds a Python object other than None, which cannot be read");
  }
}

std::string npy_descr(Dtype dtype) {
  static constexpr const char* kDescr[kDtypeCount] = {"|b1", "|u1", "|i1", "<i4", "<i8", "<f2", "<V2", "<f4", "<f8"};
  return kDescr[static_cast<int>(dtype)];
}

std::string npy_header(const std::string& descr, const Shape& shape) {
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + to_string(shape) + ", }";
  if (shape.ndim() > 0) text.append(kGrowthDigits - std::to_string(shape[0]).size(), ' ');
  const size_t before = kMagicSize + 4;
  const size_t unaligned = (before + text.size() + 1) % kNpyAlignment;
  text.append(unaligned == 0 ? kNpyAlignment : kNpyAlignment - unaligned, ' ');
  text.push_back('\n');
  std::string header(kMagic, kMagicSize);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return header + text;
}

std::string npy_text(std::string_view utf8) {
  const std::vector<uint32_t> points = decode_utf8(utf8);
  const size_t length = std::max<size_t>(points.size(), 1);  // NumPy has no <U0 in files
  std::string file = npy_header("<U" + std::to_string(length), {});
  const size_t at = file.size();
  file.append(4 * length, '\0');
  if (!points.empty()) std::memcpy(&file[at], points.data(), 4 * points.size());
  return file;
}

std::string npy_none() { return npy_header("|O", {}) + std::string(kPickledNoneBytes); }

}  // namespace kusari::serializers
