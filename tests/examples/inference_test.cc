#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/examples/inference/cached_step.h"
#include "kusari/examples/inference/classifier.h"
#include "kusari/examples/inference/text_boxes.h"
#include "kusari/examples/inference/text_model.h"
#include "kusari/examples/inference/text_reader.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::inference_examples_test {
namespace {

using testing::ScratchDirectory;

// --- classify --------------------------------------------------------------------------------------------------------

TEST_CASE("what a classifier's input takes") {
  const auto input = [](std::vector<int64_t> shape) {
    return onnx::Argument{"x", Dtype::float32, std::move(shape), {}};
  };
  const ImageInput first = image_input(input({-1, 3, 224, 160}));
  CHECK(!first.is_channels_last);
  CHECK((first.batch == -1 && first.channels == 3 && first.height == 224 && first.width == 160));
  const ImageInput last = image_input(input({8, 299, -1, 3}));
  CHECK(last.is_channels_last);
  CHECK((last.batch == 8 && last.channels == 3 && last.height == 299 && last.width == -1));
  CHECK(image_input(input({1, 1, 28, 28})).channels == 1);
  CHECK(!image_input(input({1, 3, 1, 1})).is_channels_last);
  CHECK(image_input({"x", std::nullopt, std::nullopt, {}}).height == -1);
  CHECK_THROWS_WITH_AS(image_input(input({1, 784})),
                       "the model's input 'x' has shape (1, 784): it must be (N, C, H, W) or (N, H, W, C), with 1 or 3 "
                       "channels",
                       ValueError);
  CHECK_THROWS_AS(image_input(input({1, 4, 32, 32})), ValueError);
}

TEST_CASE("scores and probabilities give the likeliest classes") {
  const std::vector<float> scores{1, 3, -2};
  const double total = std::exp(1.0) + std::exp(3.0) + std::exp(-2.0);
  const auto guesses = likeliest(scores, 2);
  REQUIRE(guesses.size() == 2);
  CHECK((guesses[0].label == 1 && guesses[1].label == 0));
  CHECK(guesses[0].probability == doctest::Approx(std::exp(3.0) / total));
  CHECK(guesses[1].probability == doctest::Approx(std::exp(1.0) / total));
  const auto as_they_are = likeliest(std::vector<float>{0.25F, 0.75F}, 5);
  REQUIRE(as_they_are.size() == 2);
  CHECK(as_they_are[0].probability == doctest::Approx(0.75));
}

#if defined(KUSARI_WITH_PNG)
TEST_CASE("a photo becomes an input") {
  const ScratchDirectory folder;
  std::vector<uint8_t> pixels;  // 6 x 4, RGB: the red is 10 times the column
  for (int channel = 0; channel < 3; ++channel) {
    for (int row = 0; row < 4; ++row) {
      for (int column = 0; column < 6; ++column)
        pixels.push_back(static_cast<uint8_t>(channel == 0 ? 10 * column : 51));
    }
  }
  datasets::save_png(folder / "photo.png", array(pixels, {3, 4, 6}));
  ImageInput input;
  const Preparation preparation{.size = {4, 4}, .shorter = 4, .mean = {0, 0.2, 0.1}, .deviation = {1, 1, 0.5}};
  const Array x = prepared_photo(folder / "photo.png", input, preparation);
  REQUIRE(x.shape() == Shape{3, 4, 4});
  for (int64_t column = 0; column < 4; ++column) {
    CHECK(x.at(0).at(1).at(column).item<double>() == doctest::Approx(10.0 * static_cast<double>(column + 1) / 255));
    CHECK(x.at(1).at(2).at(column).item<double>() == doctest::Approx(0));
    CHECK(x.at(2).at(3).at(column).item<double>() == doctest::Approx(0.2));
  }
  input.is_channels_last = true;
  CHECK(prepared_photo(folder / "photo.png", input, preparation).shape() == Shape{4, 4, 3});
  input = {.dtype = Dtype::uint8};
  CHECK(prepared_photo(folder / "photo.png", input, preparation).at(0).at(0).at(3).item<int>() == 40);
}
#endif

// --- generate_text ---------------------------------------------------------------------------------------------------

L::TransformerLM drawn_model() {
  random::seed(3);
  L::TransformerLM model(11, {.block = 12, .layers = 2, .heads = 2, .width = 16});
  for (Parameter* p : model.params()) p->array() *= Scalar(12.0);  // so that the likeliest word is so by far
  return model;
}

// What follows `start` define-by-run.
std::vector<int64_t> expected_text(const L::TransformerLM& model, const Array& start, int64_t count) {
  KVCache cache = model.cache();
  return generate([&](const Variable& x) { return model.next(x, &cache); }, start, {.max_new = count, .temperature = 0})
      .to_vector<int64_t>();
}

TEST_CASE("a step with caches in an ONNX file writes what the model does") {
  const ScratchDirectory folder;
  L::TransformerLM model = drawn_model();
  const Array start = array<int32_t>({4, 9, 1});
  const std::vector<int64_t> expected = expected_text(model, start, 9);
  export_step(model, 2, {"a", "b"}, folder / "gpt.onnx");
  CHECK(onnx::load(folder / "gpt.onnx").metadata().at("vocabulary") == "[\"a\",\"b\"]");
  TextModel text(folder / "gpt.onnx");
  CHECK(text.block() == 12);
  const auto next = [&](const Variable& ids) { return text(ids); };
  const GenerateOptions greedy{.max_new = 9, .temperature = 0};
  CHECK(generate(next, start, greedy).to_vector<int64_t>() == expected);
  CHECK(text.session().plan_count() == 1);
  text.clear();
  CHECK(generate(next, start, greedy).to_vector<int64_t>() == expected);

  // A longer text goes on from the last half of what a block holds.
  std::vector<int64_t> all = start.to_vector<int64_t>();
  all.insert(all.end(), expected.begin(), expected.end());
  for (int i = 0; i < 2; ++i) {
    all.push_back(generate(next, array<int64_t>({all.back()}), {.max_new = 1, .temperature = 0}).at(0).item<int64_t>());
  }
  REQUIRE(all.size() == 14);
  const std::vector<int64_t> half(all.begin() + 7, all.begin() + 13);
  CHECK(expected_text(model, array(half), 1)[0] == all.back());
}

TEST_CASE("a model of whole texts in an ONNX file writes the same") {
  const ScratchDirectory folder;
  L::TransformerLM model = drawn_model();
  const Array start = array<int32_t>({7, 0, 3});
  onnx::export_model(model, {Variable(zeros({1, 12}, Dtype::int64), false)}, folder / "whole.onnx");
  TextModel text(folder / "whole.onnx");
  const auto written =
      generate([&](const Variable& ids) { return text(ids); }, start, {.max_new = 9, .temperature = 0});
  CHECK(written.to_vector<int64_t>() == expected_text(model, start, 9));
  CHECK(text.session().plan_count() == 1);
}

// --- recognize_text --------------------------------------------------------------------------------------------------

TEST_CASE("boxes around what a map says to be text") {
  constexpr int64_t kWidth = 40;
  std::vector<float> map(kWidth * 30, 0.05F);
  const auto fill = [&](int64_t left, int64_t top, int64_t right, int64_t bottom, float value) {
    for (int64_t y = top; y <= bottom; ++y) {
      for (int64_t x = left; x <= right; ++x) map[static_cast<size_t>(y * kWidth + x)] = value;
    }
  };
  fill(22, 5, 35, 10, 0.9F);   // the second of the first line
  fill(3, 4, 14, 9, 0.8F);     // the first
  fill(4, 20, 20, 25, 0.35F);  // seen, but unsure
  fill(30, 20, 31, 21, 0.9F);  // small
  const auto boxes = find_text_boxes(map, kWidth, {.grow = 0, .least_side = 4});
  REQUIRE(boxes.size() == 2);
  // Open pixels reach one further to the right and below.
  CHECK(boxes[0].corners[0].x == doctest::Approx(3));
  CHECK(boxes[0].corners[0].y == doctest::Approx(4));
  CHECK(boxes[0].corners[2].x == doctest::Approx(15));
  CHECK(boxes[0].corners[2].y == doctest::Approx(10));
  CHECK(boxes[0].score == doctest::Approx((12 * 6 * 0.8 + 19 * 0.05) / 91));
  CHECK(boxes[1].corners[0].x == doctest::Approx(22));
  const TextBox grown = find_text_boxes(map, kWidth, {.grow = 1, .least_side = 4})[0];
  const double by = 12.0 * 6 / 36;
  CHECK(grown.corners[0].x == doctest::Approx(3 - by));
  CHECK(grown.width() == doctest::Approx(12 + 2 * by));
  CHECK(grown.height() == doctest::Approx(6 + 2 * by));
}

TEST_CASE("the smallest rectangle around points may be turned") {
  // (2, 1) along and (-1, 2) across, both from (10, 10).
  std::vector<Point> points;
  for (int i = 0; i <= 4; ++i) {
    for (int j = 0; j <= 2; ++j) points.push_back({10.0 + 2 * i - j, 10.0 + i + 2 * j});
  }
  const TextBox box{text_boxes::smallest_rectangle(points), 0};
  CHECK(box.corners[0].x == doctest::Approx(10));
  CHECK(box.corners[0].y == doctest::Approx(10));
  CHECK(box.corners[1].x == doctest::Approx(18));
  CHECK(box.corners[1].y == doctest::Approx(14));
  CHECK(box.corners[3].x == doctest::Approx(8));
  CHECK(box.corners[3].y == doctest::Approx(14));
  CHECK(text_boxes::smallest_rectangle({{3, 4}})[2].y == doctest::Approx(4));
}

TEST_CASE("columns of a recognizer are read without blanks and repetitions") {
  const std::vector<std::string> characters{"", "a", "b"};
  std::vector<float> columns;
  for (const int best : {1, 1, 0, 1, 2, 2, 0}) {
    for (int i = 0; i < 3; ++i) columns.push_back(i == best ? 0.8F : 0.1F);
  }
  const auto [text, score] = decode_columns(columns, characters);
  CHECK(text == "aab");
  CHECK(score == doctest::Approx(0.8));
  CHECK(decode_columns(std::vector<float>{0.9F, 0, 0}, characters).first.empty());
}

TEST_CASE("a part of an image is cut out upright") {
  std::vector<float> pixels;  // 8 x 6, one channel: 10 y + x
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < 8; ++x) pixels.push_back(static_cast<float>(10 * y + x));
  }
  const Array image = array(pixels, {1, 6, 8});
  const Array part = cut_out(image, {{{{2, 1}, {5, 1}, {5, 3}, {2, 3}}}, 1});
  REQUIRE(part.shape() == Shape{1, 2, 3});
  CHECK(part.to_vector<float>() == std::vector<float>{12, 13, 14, 22, 23, 24});
  // One that stands: what was on the right is above.
  const Array laid = cut_out(image, {{{{2, 1}, {4, 1}, {4, 4}, {2, 4}}}, 1});
  REQUIRE(laid.shape() == Shape{1, 2, 3});
  CHECK(laid.to_vector<float>() == std::vector<float>{13, 23, 33, 12, 22, 32});
}

// Networks by hand. Photos come as BGR, -1 .. 1: what is bright is text, and red, green and blue are letters.
class Brightness : public Chain {
 public:
  Variable operator()(const Variable& x) const { return F::sigmoid(8 * (F::max(x, 1, true) - 0.2)); }
};
class Stripes : public Chain {
 public:
  Stripes() : c{*this, "c", 3, 5, 1} {
    c.W.array().copy_from(array<float>({-4, -4, -4, -4, -4, 8, -4, 8, -4, 8, -4, -4, 0, 0, 0}, {5, 3, 1, 1}));
    c.b.array().copy_from(array<float>({0, 0, 0, 0, -50}));
  }
  Variable operator()(const Variable& x) const {
    const Variable columns = F::max_pooling_2d(x, {48, 8}, {.cover_all = false});
    return F::softmax(F::transpose(F::reshape(c(columns), {x.shape()[0], 5, x.shape()[3] / 8}), {0, 2, 1}), 2);
  }

 private:
  Child<L::Convolution2D> c;
};

TEST_CASE("texts of a photo are found and read") {
  const ScratchDirectory folder;
  onnx::export_model(Brightness(), {Variable(zeros({1, 3, 64, 320}), false)}, folder / "detector.onnx");
  onnx::export_model(Stripes(), {Variable(zeros({1, 3, 48, 320}), false)}, folder / "recognizer.onnx",
                     {.metadata = {{"character", "r\ng\nb"}}});
  onnx::export_model(Stripes(), {Variable(zeros({1, 3, 48, 320}), false)}, folder / "nameless.onnx");

  const Array photo = zeros({3, 128, 640}, Dtype::uint8);  // twice as large as what the detector takes
  const auto paint = [&](const std::string& letters, int64_t top, int64_t left) {
    for (size_t i = 0; i < letters.size(); ++i) {
      const int64_t channel = letters[i] == 'r' ? 0 : letters[i] == 'g' ? 1 : 2;
      photo.at(channel).slice(0, top, 24).slice(1, left + 30 * static_cast<int64_t>(i), 30).fill(255);
    }
  };
  paint("gb", 80, 20);
  paint("rgbr", 16, 320);
  paint("brg", 18, 40);
  const TextReader reader(folder / "detector.onnx", folder / "recognizer.onnx", {});
  const std::vector<TextLine> lines = reader.read(photo);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].text == "brg");
  CHECK(lines[1].text == "rgbr");
  CHECK(lines[2].text == "gb");
  CHECK(std::abs(lines[1].box.corners[0].x - 320) < 30);
  CHECK(lines[2].score > 0.9);
  CHECK_THROWS_AS(TextReader(folder / "detector.onnx", folder / "nameless.onnx", {}), ValueError);
  const TextReader named(folder / "detector.onnx", folder / "nameless.onnx", {"x", "y", "z"});
  CHECK(named.read(photo).at(0).text == "zxy");
}

}  // namespace
}  // namespace kusari::inference_examples_test
