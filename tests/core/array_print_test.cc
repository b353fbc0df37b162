#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"

// Expected texts are those of numpy.__version__ == "1.24.4"; bfloat16, which NumPy lacks, follows the same rules.
namespace kusari {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::string scalar(T value) {
  return to_string(from_host(&value, {}, dtype_of<T>));
}

TEST_CASE("floats line up at the point") {
  CHECK(to_string(array<float>({1, 2.5, -3})) == "[ 1.   2.5 -3. ]");
  CHECK(to_string(array<float>({0.1f, 1 / 3.f, 2 / 3.f, 10}, {2, 2})) ==
        "[[ 0.1         0.33333334]\n [ 0.6666667  10.        ]]");
  CHECK(to_string(array<double>({1 / 3., 2})) == "[0.33333333 2.        ]");
  CHECK(to_string(array<double>({-0.0, 0.0})) == "[-0.  0.]");
  CHECK(to_string(arange(12).reshape({2, 2, 3})) ==
        "[[[ 0.  1.  2.]\n  [ 3.  4.  5.]]\n\n [[ 6.  7.  8.]\n  [ 9. 10. 11.]]]");
}

TEST_CASE("a wide range takes exponents") {
  CHECK(to_string(array<float>({1e-5f, 1})) == "[1.e-05 1.e+00]");
  CHECK(to_string(array<float>({1e8f, 1})) == "[1.e+08 1.e+00]");
  CHECK(to_string(array<float>({1, 1000})) == "[   1. 1000.]");
  CHECK(to_string(array<float>({1, 1001})) == "[1.000e+00 1.001e+03]");
  CHECK(to_string(array<double>({5e-324, 1})) == "[5.e-324 1.e+000]");
}

TEST_CASE("infinities and NaN") {
  CHECK(to_string(array<float>({kNan, -kInf, 1.5})) == "[ nan -inf  1.5]");
  CHECK(to_string(array<float>({kNan, kInf})) == "[nan inf]");
  CHECK(scalar(-kInf) == "-inf");
}

TEST_CASE("halves show the digits that they need") {
  const auto halves = [](std::initializer_list<float> values) { return array<float>(values).astype(Dtype::float16); };
  CHECK(to_string(halves({0.1f, 1 / 3.f, 65504})) == "[9.998e-02 3.333e-01 6.550e+04]");
  CHECK(to_string(halves({4328, 0.5})) == "[4.33e+03 5.00e-01]");
  CHECK(to_string(halves({6e-8f, 1})) == "[6.e-08 1.e+00]");
  CHECK(to_string(halves({0.1f, 0.25f})) == "[0.1  0.25]");
  CHECK(scalar(float16(0.1f)) == "0.1");
  CHECK(to_string(array<float>({0.1f, 1 / 3.f, 100}).astype(Dtype::bfloat16)) == "[  0.1     0.334 100.   ]");
  CHECK(scalar(bfloat16(3.14159f)) == "3.14");
}

TEST_CASE("integers and booleans align right") {
  CHECK(to_string(array<int64_t>({1, -20, 300, 4}, {2, 2})) == "[[  1 -20]\n [300   4]]");
  CHECK(to_string(array<bool>({true, false})) == "[ True False]");
  CHECK(to_string(array<uint8_t>({7, 255})) == "[  7 255]");
  CHECK(to_string(array<int8_t>({-128, 1})) == "[-128    1]");
}

TEST_CASE("scalars and empty arrays") {
  CHECK(scalar(1 / 3.) == "0.3333333333333333");
  CHECK(scalar(100.f) == "100.0");
  CHECK(scalar(1e16) == "1e+16");
  CHECK(scalar(9.99e15) == "9990000000000000.0");
  CHECK(scalar(1e-5) == "1e-05");
  CHECK(scalar(1.5e20) == "1.5e+20");
  CHECK(scalar(123456789.f) == "123456790.0");
  CHECK(scalar(int32_t{7}) == "7");
  CHECK(scalar(true) == "True");
  CHECK(to_string(zeros({0, 3})) == "[]");
}

TEST_CASE("lines break at 75 columns") {
  CHECK(to_string(array<int64_t>({0, 1, 2}).reshape({1, 3})) == "[[0 1 2]]");
  const Array numbers = arange(30, Dtype::int64);
  for (int64_t i = 0; i < 30; ++i) numbers.slice(0, i, 1).fill(1000 * i);
  CHECK(to_string(numbers) ==
        "[    0  1000  2000  3000  4000  5000  6000  7000  8000  9000 10000 11000\n"
        " 12000 13000 14000 15000 16000 17000 18000 19000 20000 21000 22000 23000\n"
        " 24000 25000 26000 27000 28000 29000]");
}

TEST_CASE("more than 1000 elements are abbreviated") {
  CHECK(to_string(arange(1001)) == "[   0.    1.    2. ...  998.  999. 1000.]");
  CHECK(to_string(arange(1200, Dtype::int32).reshape({300, 4})) ==
        "[[   0    1    2    3]\n [   4    5    6    7]\n [   8    9   10   11]\n ...\n [1188 1189 1190 1191]\n"
        " [1192 1193 1194 1195]\n [1196 1197 1198 1199]]");
  const std::string cube = to_string(arange(1200, Dtype::int32).reshape({10, 10, 12}));
  CHECK(cube.starts_with("[[[   0    1    2 ...    9   10   11]\n  [  12   13   14 ...   21   22   23]\n"));
  CHECK(cube.find("  [ 348  349  350 ...  357  358  359]]\n\n ...\n\n [[ 840  841  842 ...") != std::string::npos);
  CHECK(to_string(arange(1000)).find("...") == std::string::npos);
}

TEST_CASE("arrays print the same whatever their memory order") {
  const Array a = arange(6).reshape({2, 3});
  CHECK(to_string(a.transpose()) == "[[0. 3.]\n [1. 4.]\n [2. 5.]]");
  std::ostringstream stream;
  stream << a;
  CHECK(stream.str() == "[[0. 1. 2.]\n [3. 4. 5.]]");
}

template <class T>
std::string printed(const T& value) {
  std::ostringstream stream;
  stream << value;
  CHECK(stream.str() == to_string(value));
  return stream.str();
}

TEST_CASE("shapes, dtypes and devices print") {
  CHECK(printed(Shape{2, 3}) == "(2, 3)");
  CHECK(printed(Shape{5}) == "(5,)");
  CHECK(printed(Shape{}) == "()");
  CHECK(printed(ones({2, 3}).transpose().strides()) == "(1, 3)");
  CHECK(printed(Dtype::float32) == "float32");
  CHECK(printed(Dtype::bool_) == "bool");
  CHECK(printed(Dtype::bfloat16) == "bfloat16");
  CHECK(printed(Device()) == "cpu");
}

// numpy.array2string(a, None, None, None, ' ', prefix) of NumPy 1.24.
TEST_CASE("array2string indents the lines after the first") {
  CHECK(array2string(array<float>({1, 2}), "x = ") == "[1. 2.]");
  CHECK(array2string(array<int>({1, 2, 3, 4}, {2, 2}), "ab(") == "[[1 2]\n    [3 4]]");
  CHECK(array2string(array(3.0f), "") == "3.");
  CHECK(array2string(array(3), "x") == "3");
  CHECK(array2string(array(true), "x") == "True");
  CHECK(array2string(zeros({0, 2}), "x") == "[]");
}

}  // namespace
}  // namespace kusari
