#include "kusari/framework/serializers/safetensors.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/serializers/one_value.h"

using namespace kusari;
using namespace kusari::serializers;
using kusari::testing::OneValue;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;
using kusari::testing::write_file;
using namespace std::string_literals;

namespace {

// safetensors.numpy.save of version 0.8.0, with the metadata {"format": "pt"}.
const std::string kPython =
    "\x18\x02\0\0\0\0\0\0{\"__metadata__\":{\"format\":\"pt\"},\"n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":["
    "0,8]},"
    "\"l1.b\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[8,24]},\"e\":{\"dtype\":\"F32\",\"shape\":[0,3],"
    "\"data_offsets\":[24,24]},\"l1.W\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[24,40]},\"i\":{\"dtype\":"
    "\"I32\","
    "\"shape\":[1],\"data_offsets\":[40,44]},\"h\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[44,46]},\"s\":{"
    "\"dtype\":"
    "\"I8\",\"shape\":[1],\"data_offsets\":[46,47]},\"u\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[47,49]},"
    "\"m\":{"
    "\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[49,52]}}    "
    "\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0?\0\0\0\0\0\0\0\xc0\0\0\x80?"
    "\0\0\0@\0\0@@\0\0\x90@\xfb\xff\xff\xff\0008\xfd\xfa\1\1\0\1"s;

/// A file of that header and data.
std::string file_of(const std::string& json, const std::string& data = "") {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(json.size() >> (8 * i) & 0xff);
  return text + json + data;
}

struct Object {
  Array W = array<float>({1, 2, 3, 4}, {2, 2});
  Array absent;
  int64_t t = 7;
  double rate = 0.5;
  bool flag = true;
  std::string log = "[{\"epoch\": 1}]\n\xc3\xa9";
  void serialize(Serializer& s) {
    (*s.child("l1"))("W", W);
    (*s.child("l1"))("absent", absent);
    s("t", t);
    s("rate", rate);
    s("flag", flag);
    s("log", log);
  }
};

template <class T>
T load_tensor(const std::string& path, const std::string& name, T value, LoadOptions options = {}) {
  OneValue<T> one{name, std::move(value)};
  load_safetensors(path, one, std::move(options));
  return one.value;
}

}  // namespace

TEST_CASE("safetensors: a file of the Python package is read") {
  const ScratchDirectory dir;
  write_file(dir / "a.safetensors", kPython);
  const SafetensorsReader file(dir / "a.safetensors");
  CHECK(file.keys() == std::vector<std::string>{"n", "l1.b", "e", "l1.W", "i", "h", "s", "u", "m"});
  CHECK(file.metadata() == std::map<std::string, std::string>{{"format", "pt"}});
  CHECK(file.entries()[3].dtype == "F32");
  CHECK(file.entries()[3].shape == std::vector<int64_t>{2, 2});
  CHECK(file.array("l1.W").to_vector<double>() == std::vector<double>{1, 2, 3, 4.5});
  CHECK(file.array("l1/W").shape() == Shape{2, 2});
  CHECK(file.array("l1.b").to_vector<double>() == std::vector<double>{1, -2});
  CHECK(file.array("n").item<int64_t>() == 7);
  CHECK(file.array("e").shape() == Shape{0, 3});
  CHECK(file.array("m").to_vector<double>() == std::vector<double>{1, 0, 1});
  CHECK(file.array("u").to_vector<double>() == std::vector<double>{250, 1});
  CHECK(file.array("i").item<int>() == -5);
  CHECK(file.array("s").item<int>() == -3);
  CHECK(file.array("h").item<double>() == 0.5);
  const std::vector<Dtype> dtypes = {Dtype::int64,   Dtype::float64, Dtype::float32, Dtype::float32, Dtype::int32,
                                     Dtype::float16, Dtype::int8,    Dtype::uint8,   Dtype::bool_};
  for (size_t i = 0; i < dtypes.size(); ++i) CHECK(file.array(file.keys()[i]).dtype() == dtypes[i]);
}

TEST_CASE("safetensors: what is written has the bytes of the Python package") {
  const ScratchDirectory dir;
  Dictionary entries;
  entries.emplace_back("l1/W", Entry{array<float>({1, 3, 2, 4.5f}, {2, 2}).transpose()});
  entries.emplace_back("l1/b", Entry{array<double>({1, -2})});
  entries.emplace_back("n", Entry{array<int64_t>({7}, Shape{})});
  entries.emplace_back("m", Entry{array<bool>({true, false, true})});
  entries.emplace_back("u", Entry{array<uint8_t>({250, 1})});
  entries.emplace_back("e", Entry{zeros({0, 3})});
  entries.emplace_back("i", Entry{array<int32_t>({-5})});
  entries.emplace_back("s", Entry{array<int8_t>({-3})});
  entries.emplace_back("h", Entry{full({1}, 0.5, Dtype::float16)});
  save_safetensors_dictionary(dir / "a", entries, {.metadata = {{"format", "pt"}}, .checksums = false});
  CHECK(read_file(dir / "a") == kPython);
  CHECK(dir.count() == 1);
  save_safetensors_dictionary(dir / "b", {{"a", Entry{array<float>({1.5f})}}}, {.checksums = false});
  CHECK(read_file(dir / "b") ==
        "8\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}  \0\0\xc0?"s);
  save_safetensors_dictionary(dir / "empty", {});
  CHECK(SafetensorsReader(dir / "empty").keys().empty());
}

TEST_CASE("save_safetensors and load_safetensors give an object back") {
  const ScratchDirectory dir;
  Object saved;
  save_safetensors(dir / "a", saved);
  CHECK(SafetensorsReader(dir / "a").keys() == std::vector<std::string>{"t", "rate", "l1.W", "flag"});
  Object loaded{zeros({2, 2}), zeros({1}), 0, 0, false, ""};
  const Array W = loaded.W;  // the same elements: loading overwrites in place
  load_safetensors(dir / "a", loaded);
  CHECK(W.to_vector<double>() == std::vector<double>{1, 2, 3, 4});
  CHECK_FALSE(loaded.absent.is_defined());
  CHECK(loaded.t == 7);
  CHECK(loaded.rate == 0.5);
  CHECK(loaded.flag);
  CHECK(loaded.log == saved.log);

  links::Linear linear(3, 2), other(3, 2);
  save_safetensors(dir / "linear", linear);
  CHECK(SafetensorsReader(dir / "linear").keys() == std::vector<std::string>{"W", "b"});
  load_safetensors(dir / "linear", other);
  CHECK(other.W.to_vector<float>() == linear.W.to_vector<float>());
}

TEST_CASE("load_safetensors: options are those of load_npz") {
  const ScratchDirectory dir;
  write_file(dir / "a", kPython);
  const std::string path = dir / "a";
  CHECK(load_tensor(path, "W", zeros({2, 2}), {.path = "l1"}).to_vector<double>() == std::vector<double>{1, 2, 3, 4.5});
  CHECK(load_tensor(path, "W", zeros({2, 2}, Dtype::float16), {.path = "/l1/"}).dtype() == Dtype::float16);
  CHECK(load_tensor(path, "l1/b", zeros({2}), {.ignore_names = {"l1/b"}}).to_vector<double>() ==
        std::vector<double>{0, 0});
  CHECK(load_tensor(path, "n", int64_t{1}, {.ignore = [](const std::string& key) { return key == "n"; }}) == 1);
  CHECK(load_tensor(path, "none", 4.0, {.strict = false}) == 4.0);
  CHECK_THROWS_WITH_AS(load_tensor(path, "l2/W", 0.0),
                       ("safetensors: " + path +
                        " has no entry 'l2/W' but 9 tensors: 'n', 'l1.b', 'e', 'l1.W', 'i', "
                        "'h', 's', 'u', ..")
                           .c_str(),
                       KeyError);
  CHECK_THROWS_WITH_AS(
      load_tensor(path, "l1/W", zeros({2})),
      ("load_safetensors: " + path + ": entry 'l1/W' has shape (2, 2) but the object's array has shape (2,)").c_str(),
      TypeError);
  CHECK_THROWS_WITH_AS(
      load_tensor(path, "l1/W", zeros({2, 2}, Dtype::int32)),
      ("load_safetensors: " + path + ": entry 'l1/W' has dtype float32 but the object's array has dtype int32").c_str(),
      TypeError);
}

TEST_CASE("safetensors: dtypes that the library lacks") {
  const ScratchDirectory dir;
  const std::string path = dir / "a";
  write_file(path, file_of("{\"a\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[0,4]},"
                           "\"b\":{\"dtype\":\"U16\",\"shape\":[1],\"data_offsets\":[4,6]},"
                           "\"c\":{\"dtype\":\"U32\",\"shape\":[1],\"data_offsets\":[6,10]},"
                           "\"d\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[10,11]},"
                           "\"e\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[11,12]},"
                           "\"f\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[12,14]},"
                           "\"g\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[14,16]}}",
                           "\xff\xff\1\0\xff\xff\xff\xff\xff\xff\0\0\2\0\x80\x3f"s));
  const SafetensorsReader file(path);
  CHECK(file.array("a").dtype() == Dtype::int32);
  CHECK(file.array("a").to_vector<double>() == std::vector<double>{-1, 1});
  CHECK(file.array("b").item<int>() == 65535);
  CHECK(file.array("c").dtype() == Dtype::int64);
  CHECK(file.array("c").item<int64_t>() == 4294967295);
  CHECK(file.array("f").to_vector<double>() == std::vector<double>{1, 0});
  CHECK(file.array("g").dtype() == Dtype::bfloat16);
  CHECK(file.array("g").item<double>() == 1);
  CHECK_THROWS_WITH_AS(file.array("d"),
                       ("safetensors: " + path + ": tensor 'd' has dtype F8_E4M3, which cannot be read").c_str(),
                       IoError);
  CHECK_THROWS_WITH_AS(file.array("e"),
                       ("safetensors: " + path + ": tensor 'e' has 9 axes: at most 8 can be read").c_str(), IoError);
}

TEST_CASE("safetensors: damaged headers are refused") {
  const ScratchDirectory dir;
  const std::string path = dir / "a";
  const auto tensor = [](const std::string& name, const std::string& shape, const std::string& offsets,
                         const std::string& dtype = "U8") {
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[" + offsets +
           "]}";
  };
  const std::string a = tensor("a", "2", "0,2");
  struct Case {
    std::string file, message;
  };
  for (const Case& c : {
           Case{"", "the file has 0 bytes, fewer than any has"},
           {"1234567", "the file has 7 bytes, fewer than any has"},
           {"\x03\0\0\0\0\0\0\0{}"s, "the header has 3 bytes: there are 2, and it may have 100000000"},
           {std::string(8, '\xff') + "{}",
            "the header has 18446744073709551615 bytes: there are 2, and it may have "
            "100000000"},
           {file_of(""), "the header is no JSON from byte 1 on"},
           {file_of("{"), "the header is no JSON from byte 2 on"},
           {file_of("[]"), "the header has an array where none may be"},
           {file_of("{\"a\":1}"), "the header has a number where none may be, at 'a'"},
           {file_of("{\"a\":{}}"), "the header lacks dtype, shape or data_offsets of 'a'"},
           {file_of("{\"a\":{\"b\":1}}"), "the header says 'b' of 'a': it may say dtype, shape and data_offsets"},
           {file_of("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}"), "the header says 'dtype' twice of 'a'"},
           {file_of("{" + a + "," + a + "}", "12"), "the header names the tensor 'a' twice"},
           {file_of("{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}"), "the header has the metadata 'a' twice"},
           {file_of("{\"__metadata__\":{\"a\":[]}}"), "the header has an array where none may be, at '__metadata__'"},
           {file_of("{" + tensor("a", "-1", "0,2") + "}", "12"),
            "the header has a negative number where none may be, "
            "at 'a'"},
           {file_of("{" + tensor("a", "1.5", "0,2") + "}", "12"),
            "the header has a number with a point where none may "
            "be, at 'a'"},
           {file_of("{" + tensor("a", "[1]", "0,2") + "}", "12"), "the header has an array where none may be, at 'a'"},
           {file_of("{" + tensor("a", "9223372036854775808", "0,2") + "}", "12"),
            "the header has the size 9223372036854775808 in the shape of 'a'"},
           {file_of("{" + tensor("a", "2", "0") + "}", "12"), "the header has not two data_offsets for 'a'"},
           {file_of("{" + tensor("a", "2", "0,2,2") + "}", "12"), "the header has a number where none may be, at 'a'"},
           {file_of("{" + tensor("a", "2", "0,2", "U9") + "}", "12"), "tensor 'a' has the unknown dtype 'U9'"},
           {file_of("{" + tensor("a", "2", "1,3") + "}", "123"),
            "tensor 'a' has the bytes [1, 3): they must begin at 0 and end within 3"},
           {file_of("{" + a + "," + tensor("b", "1", "1,2") + "}", "12"),
            "tensor 'b' has the bytes [1, 2): they must begin at 2 and end within 2"},
           {file_of("{" + a + "," + tensor("b", "1", "3,4") + "}", "1234"),
            "tensor 'b' has the bytes [3, 4): they must begin at 2 and end within 4"},
           {file_of("{" + tensor("a", "3", "0,3") + "}", "12"),
            "tensor 'a' has the bytes [0, 3): they must begin at 0 and end within 2"},
           {file_of("{" + tensor("a", "3", "0,2") + "}", "12"),
            "tensor 'a' has the bytes [0, 2), but its dtype and shape make 3"},
           {file_of("{" + tensor("a", "4611686018427387904,4", "0,0") + "}"),
            "tensor 'a' has the bytes [0, 0), but its dtype and shape make too many"},
           {file_of("{" + tensor("a", "0,4611686018427387904,4", "0,0") + "}"),
            "tensor 'a' has the bytes [0, 0), but its dtype and shape make too many"},
           {file_of("{" + a + "}", "123"), "the file has 3 bytes of data, but its tensors have 2"},
       }) {
    CAPTURE(c.file);
    write_file(path, c.file);
    CHECK_THROWS_WITH_AS(SafetensorsReader{path}, ("safetensors: " + path + ": " + c.message).c_str(), IoError);
  }
  // A million brackets would make a tree that is far larger than the file.
  write_file(path, file_of("{\"a\":" + std::string(1 << 20, '[')));
  CHECK_THROWS_WITH_AS(SafetensorsReader{path}, doctest::Contains("has an array where none may be"), IoError);
  CHECK_THROWS_WITH_AS(SafetensorsReader{dir / "none"}, doctest::Contains("cannot be opened"), IoError);
}

TEST_CASE("save_safetensors: what cannot be written leaves the old file") {
  const ScratchDirectory dir;
  const Entry one{array<float>({1})};
  save_safetensors_dictionary(dir / "a", {{"a", one}});
  const std::string before = read_file(dir / "a");
  CHECK_THROWS_WITH_AS(save_safetensors_dictionary(dir / "a", {{"a/b", one}, {"a.b", one}}),
                       "save_safetensors: 'a.b' would be written as 'a.b', which is taken", ValueError);
  CHECK_THROWS_WITH_AS(save_safetensors_dictionary(dir / "a", {{"__metadata__", one}}),
                       doctest::Contains("which is taken"), ValueError);
  CHECK_THROWS_WITH_AS(save_safetensors_dictionary(dir / "a", {{"\xff", one}}),
                       "save_safetensors: a key or a string of the metadata is not UTF-8", ValueError);
  CHECK_THROWS_WITH_AS(
      save_safetensors_dictionary(dir / "a", {{"t", Entry{Array(), std::string(100'000'000, 'x'), true}}}),
      doctest::Contains("readers refuse more than 100000000"), ValueError);
  CHECK_THROWS_AS(save_safetensors_dictionary(dir / "none/a", {{"a", one}}), IoError);
  CHECK(read_file(dir / "a") == before);
  CHECK(dir.count() == 1);
}

TEST_CASE("open_entries tells formats by their content") {
  const ScratchDirectory dir;
  const Dictionary entries = {{"l1/W", Entry{array<float>({1, 2})}}, {"log", Entry{Array(), "text", true}}};
  save_npz_dictionary(dir / "a", entries);
  save_npz_dictionary(dir / "empty", {});
  save_safetensors_dictionary(dir / "b", entries);
  for (const char* name : {"a", "b"}) {
    CAPTURE(name);
    const auto file = open_entries(dir / name);
    CHECK(file->path() == dir / name);
    CHECK(file->value("l1/W").array.to_vector<double>() == std::vector<double>{1, 2});
    CHECK(file->value("log").text == "text");
  }
  CHECK(open_entries(dir / "a")->keys() == std::vector<std::string>{"l1/W", "log"});
  CHECK(open_entries(dir / "b")->keys() == std::vector<std::string>{"l1.W"});
  CHECK(open_entries(dir / "empty")->keys().empty());
  write_file(dir / "c", "abc");
  CHECK_THROWS_WITH_AS(open_entries(dir / "c"), doctest::Contains("fewer than any has"), IoError);
}
