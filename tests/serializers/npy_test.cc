#include "kusari/framework/serializers/npy.h"

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/zip.h"
#include "kusari/tests/golden_data.h"

using namespace kusari::serializers;
using kusari::bfloat16;
using kusari::Dtype;
using kusari::IoError;
using kusari::Shape;

namespace {

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_{std::move(bytes)} {}
  void read(void* data, size_t size) override {
    if (size > remaining()) throw IoError("memory: too short");
    std::memcpy(data, bytes_.data() + at_, size);
    at_ += size;
  }
  uint64_t remaining() const noexcept override { return bytes_.size() - at_; }
  std::string describe() const override { return "memory"; }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

std::string bytes(std::initializer_list<int> values) {
  std::string s;
  for (int v : values) s.push_back(static_cast<char>(v));
  return s;
}

/// A file of any version with the given dictionary.
std::string file(const std::string& dictionary, const std::string& data, int version = 1) {
  std::string s = "\x93NUMPY" + bytes({version, 0});
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) s.push_back(static_cast<char>(dictionary.size() >> (8 * i)));
  return s + dictionary + data;
}

std::string dictionary(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

template <class T>
std::vector<T> numbers(const std::string& content, const Shape& shape) {
  MemorySource source(content);
  const NpyHeader header = read_npy_header(source);
  CHECK(header.shape == shape);
  CHECK(header.dtype == kusari::dtype_of<T>);
  std::vector<T> values(static_cast<size_t>(numel(header.shape)));
  read_npy_numbers(source, header, values.data());
  CHECK(source.remaining() == 0);
  return values;
}

std::string text_of(const std::string& content) {
  MemorySource source(content);
  const NpyHeader header = read_npy_header(source);
  return read_npy_text(source, header);
}

void read_none(const std::string& content) {
  MemorySource source(content);
  const NpyHeader header = read_npy_header(source);
  read_npy_none(source, header);
}

std::string npy_error(const std::string& content) {
  try {
    MemorySource source(content);
    const NpyHeader header = read_npy_header(source);
    std::string buffer(static_cast<size_t>(numel(header.shape)) * 8, '\0');
    if (header.kind == NpyKind::numbers) read_npy_numbers(source, header, buffer.data());
    if (header.kind == NpyKind::text) read_npy_text(source, header);
    if (header.kind == NpyKind::none) read_npy_none(source, header);
  } catch (const IoError& error) {
    return error.what();
  }
  return "no error";
}

// Bytes as numpy 2.4's lib.format.write_array writes them.
const std::string kInt32BigEndian = bytes({0, 0, 0, 1, 0, 0, 1, 0});
const std::string kNumpy2None =
    bytes({0x80, 0x04, 0x95, 0x87, 0, 0, 0, 0, 0, 0, 0, 0x8c, 0x16}) + "numpy._core.multiarray" +
    bytes({0x94, 0x8c, 0x0c}) + "_reconstruct" + bytes({0x94, 0x93, 0x94, 0x8c, 0x05}) + "numpy" +
    bytes({0x94, 0x8c, 0x07}) + "ndarray" +
    bytes({0x94, 0x93, 0x94, 'K', 0, 0x85, 0x94, 'C', 1, 'b', 0x94, 0x87, 0x94, 'R', 0x94}) +
    bytes({'(', 'K', 1, ')', 'h', 3, 0x8c, 5}) + "dtype" + bytes({0x94, 0x93, 0x94, 0x8c, 2}) + "O8" +
    bytes({0x94, 0x89, 0x88, 0x87, 0x94, 'R', 0x94, '(', 'K', 3, 0x8c, 1, '|', 0x94}) + "NNNJ" +
    bytes({255, 255, 255, 255, 'J', 255, 255, 255, 255, 'K', 0x3f, 't', 0x94, 'b', 0x89});

}  // namespace

TEST_CASE("npy: dtypes, byte orders and versions") {
  CHECK(numbers<int32_t>(file(dictionary("<i4", "(2,)"), bytes({1, 0, 0, 0, 255, 255, 255, 255})), {2}) ==
        std::vector<int32_t>{1, -1});
  CHECK(numbers<int32_t>(file(dictionary(">i4", "(2,)"), kInt32BigEndian), {2}) == std::vector<int32_t>{1, 256});
  CHECK(numbers<double>(file(dictionary("<f8", "(1,)"), bytes({0, 0, 0, 0, 0, 0, 0xf8, 0x3f}), 2), {1}) ==
        std::vector<double>{1.5});
  CHECK(numbers<float>(file(dictionary("<f4", "()"), bytes({0, 0, 0xc0, 0x3f}), 3), {}) == std::vector<float>{1.5f});
  CHECK(numbers<int8_t>(file(dictionary("|i1", "(2, 1)"), bytes({5, 0xff})), {2, 1}) == std::vector<int8_t>{5, -1});
  CHECK(numbers<uint8_t>(file(dictionary("|u1", "(1,)"), bytes({200})), {1}) == std::vector<uint8_t>{200});
  CHECK(numbers<int64_t>(file(dictionary("<i8", "()"), bytes({7, 0, 0, 0, 0, 0, 0, 0})), {}) ==
        std::vector<int64_t>{7});
  CHECK(numbers<float>(file(dictionary("<f4", "(0, 3)"), ""), {0, 3}).empty());
  const auto half = numbers<kusari::float16>(file(dictionary("<f2", "(1,)"), bytes({0, 0x3e})), {1});
  CHECK(static_cast<float>(half[0]) == 1.5f);
  const auto brain = numbers<bfloat16>(file(dictionary("<V2", "(1,)"), bytes({0xc0, 0x3f})), {1});
  CHECK(static_cast<float>(brain[0]) == 1.5f);

  MemorySource source(file(dictionary("|b1", "(3,)"), bytes({0, 1, 2})));
  const NpyHeader header = read_npy_header(source);
  unsigned char flags[3];
  read_npy_numbers(source, header, flags);
  CHECK((flags[0] == 0 && flags[1] == 1 && flags[2] == 1));
}

TEST_CASE("npy: narrow and unsigned integers are widened") {
  CHECK(numbers<int32_t>(file(dictionary("<u2", "(2,)"), bytes({255, 255, 1, 0})), {2}) ==
        std::vector<int32_t>{65535, 1});
  CHECK(numbers<int32_t>(file(dictionary(">i2", "(1,)"), bytes({255, 254})), {1}) == std::vector<int32_t>{-2});
  CHECK(numbers<int64_t>(file(dictionary("<u4", "(1,)"), bytes({255, 255, 255, 255})), {1}) ==
        std::vector<int64_t>{4294967295});
  CHECK(numbers<int64_t>(file(dictionary("<u8", "(1,)"), bytes({1, 0, 0, 0, 0, 0, 0, 0x40})), {1}) ==
        std::vector<int64_t>{0x4000000000000001});
  CHECK(npy_error(file(dictionary("<u8", "(1,)"), bytes({0, 0, 0, 0, 0, 0, 0, 0x80}))) ==
        "npy: memory has dtype uint64 and a value that does not fit int64");
}

TEST_CASE("npy: Fortran order is read into C order") {
  CHECK(numbers<int8_t>(file(dictionary("|i1", "(2, 3)", "True"), bytes({0, 3, 1, 4, 2, 5})), {2, 3}) ==
        std::vector<int8_t>{0, 1, 2, 3, 4, 5});
  // numpy.asfortranarray(numpy.arange(12, dtype='>u2').reshape(2, 3, 2)): widened, swapped and transposed.
  std::string data;
  for (int v : {0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}) data += bytes({0, v});
  CHECK(numbers<int32_t>(file(dictionary(">u2", "(2, 3, 2)", "True"), data), {2, 3, 2}) ==
        std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

TEST_CASE("npy: strings") {
  CHECK(text_of(file(dictionary("<U4", "()"), bytes({'a', 0, 0, 0, 0xe9, 0, 0, 0, 0x22, 0x6f, 0, 0, 0, 0xf6, 1, 0}))) ==
        "a\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80");
  CHECK(text_of(file(dictionary(">U3", "()"), bytes({0, 0, 0, 0xe9, 0, 0, 0, 0, 0, 0, 0, 0}))) == "\xc3\xa9");
  CHECK(text_of(file(dictionary("<U0", "()"), "")) == "");
  for (const char* text : {"", "a", "a\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80", "[\n    {\"epoch\": 1}\n]"}) {
    CHECK(text_of(npy_text(text)) == text);
  }
  CHECK(npy_text("a\xc3\xa9").find("'<U2'") != std::string::npos);
  CHECK(npy_text("").find("'<U1'") != std::string::npos);
  for (const char* bad : {"\xff", "a\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"}) {
    CHECK_THROWS_WITH_AS(npy_text(bad), doctest::Contains("not UTF-8 at byte"), kusari::ValueError);
  }
  CHECK(npy_error(file(dictionary("<U1", "()"), bytes({0, 0xd8, 0, 0}))) ==
        "npy: memory holds a string that is not Unicode");
}

TEST_CASE("npy: None") {
  read_none(npy_none());
  read_none(file(dictionary("|O", "()"), kNumpy2None + bytes({']', 0x94, 'N', 'a', 't', 0x94, 'b', '.'})));
  const std::string dict = bytes({']', 0x94, '}', 0x94, 'a', 't', 0x94, 'b', '.'});  // numpy.array({}, dtype=object)
  CHECK(npy_error(file(dictionary("|O", "()"), kNumpy2None + dict)) ==
        "npy: memory holds a Python object other than None, which cannot be read");
  CHECK(npy_error(file(dictionary("|O", "()"), "")) ==
        "npy: memory holds a Python object other than None, which cannot be read");
  CHECK(npy_error(file(dictionary("|O", "(1,)"), kNumpy2None)) ==
        "npy: memory is an array of Python objects: of these only a single None can be read");
}

TEST_CASE("npy: damaged headers are IoErrors that say what is wrong") {
  const std::string good = dictionary("<f4", "(1,)");
  const std::string four = bytes({0, 0, 0, 0});
  CHECK(npy_error(file(good, four)) == "no error");
  CHECK(npy_error("") == "npy: memory is no .npy file: it is too short");
  CHECK(npy_error(std::string(100, 'a')) == "npy: memory is no .npy file: it does not begin with \\x93NUMPY");
  CHECK(npy_error(file(good, four, 4)) == "npy: memory has format version 4: only 1 to 3 can be read");
  CHECK(npy_error(file(good, four + "x")) == "npy: memory has 5 bytes of data, but shape (1,) and dtype '<f4' make 4");
  CHECK(npy_error(file(dictionary("<f4", "(1000000, 1000000)"), four)) ==
        "npy: memory has 4 bytes of data, but shape (1000000, 1000000) and dtype '<f4' make 4000000000000");
  CHECK(npy_error(file(dictionary("<f4", "(4294967296, 4294967296)"), "")) ==
        "npy: memory has a shape with too many elements");
  CHECK(npy_error(file(dictionary("<f4", "(0, 4294967296, 4294967296)"), "")) ==
        "npy: memory has a shape with too many elements");
  CHECK(npy_error(file(dictionary("<f4", "(1,1,1,1,1,1,1,1,1)"), four)) == "npy: memory has more than 8 axes");
  CHECK(npy_error(file(dictionary("<c8", "(1,)"), four + four)).find("has dtype '<c8': it must be") !=
        std::string::npos);
  CHECK(npy_error(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n", four)) ==
        "npy: memory has a structured dtype, which cannot be read");
  CHECK(npy_error(file(dictionary("<U99999999999999999999", "()"), "")).find("has dtype") != std::string::npos);
  CHECK(npy_error(file(dictionary("<U1", "(1,)"), four)).find("array of strings") != std::string::npos);
  for (const char* bad :
       {"", "{", "{}", "{'descr'", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x"}) {
    CAPTURE(bad);
    CHECK(npy_error(file(bad, four)).find("npy: memory has a malformed header at character") == 0);
  }
  CHECK(npy_error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 'y'}", four)) ==
        "npy: memory has an unexpected key 'x' in its header");
  // As Python 2 wrote a shape.
  CHECK(npy_error(file("{\"descr\": '<f4', 'shape': (1L,), 'fortran_order': False}", four)) == "no error");
  const std::string whole = file(good, four);
  for (size_t n = 0; n < whole.size(); ++n) {
    CAPTURE(n);
    CHECK(npy_error(whole.substr(0, n)) != "no error");
  }
}

TEST_CASE("npy: headers have NumPy's bytes") {
  // numpy.save of NumPy 1.24: 10 + 118 bytes, filled with blanks.
  const std::string expected = "\x93NUMPY" + bytes({1, 0, 0x76, 0}) +
                               "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }" + std::string(60, ' ') +
                               "\n";
  CHECK(npy_header("<f4", {3}) == expected);
  for (Dtype dtype : {Dtype::bool_, Dtype::uint8, Dtype::int8, Dtype::int32, Dtype::int64, Dtype::float16,
                      Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    CAPTURE(name(dtype));
    MemorySource source(npy_header(npy_descr(dtype), {2, 3}) +
                        std::string(static_cast<size_t>(6 * itemsize(dtype)), '\0'));
    const NpyHeader header = read_npy_header(source);
    CHECK(header.dtype == dtype);
    CHECK(header.shape == Shape{2, 3});
  }
}

TEST_CASE("npy: entries of Chainer's snapshots are written with the same bytes") {
  size_t entries = 0;
  for (const char* name : {"uninitialized.a", "trainer.plain", "cnn_bn.a", "mlp.f16", "nested.b"}) {
    const std::string path = kusari::testing::golden_path(std::string("serializers/") + name + ".npz");
    const ZipReader zip(path);
    for (const ZipEntry& entry : zip.entries()) {
      CAPTURE(entry.name);
      ++entries;
      const std::string content = zip.read(entry.name);
      ZipStream stream = zip.open(entry);
      const NpyHeader header = read_npy_header(stream);
      if (header.kind == NpyKind::none) {
        read_npy_none(stream, header);
        CHECK(content == npy_none());
      } else if (header.kind == NpyKind::text) {
        CHECK(content == npy_text(read_npy_text(stream, header)));
      } else {
        const std::string head = npy_header(npy_descr(header.dtype), header.shape);
        CHECK(content.substr(0, head.size()) == head);
        CHECK(content.size() == head.size() + static_cast<size_t>(numel(header.shape) * itemsize(header.dtype)));
      }
    }
  }
  CHECK(entries > 50);
}
