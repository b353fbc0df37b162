#include <algorithm>
#include <cmath>
#include <fstream>

#include <doctest/doctest.h>

#include "kusari/examples/image_captioning/model.h"
#include "kusari/examples/image_captioning/pictures.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::image_captioning_test {
namespace {

using testing::ScratchDirectory;

TEST_CASE("files of captions") {
  const ScratchDirectory scratch;
  const std::string path = scratch / "captions";
  std::ofstream(path) << "b.jpg#0\tA dog runs .\r\na.png\tTwo cats\n\nb.jpg#1\tthe dog\nc#x.png\tone\n";
  const auto pictures = read_captions("there", path);
  REQUIRE(pictures.size() == 3);
  CHECK(pictures[0].path == "there/b.jpg");
  CHECK(pictures[0].captions == std::vector<Words>{{"a", "dog", "runs", "."}, {"the", "dog"}});
  CHECK(pictures[1].path == "there/a.png");
  CHECK(pictures[1].captions == std::vector<Words>{{"two", "cats"}});
  CHECK(pictures[2].path == "there/c#x.png");

  std::ofstream(path) << "a.png\tone\nb.png two\n";
  CHECK_THROWS_WITH_AS(read_captions("there", path),
                       (path + ":2: \"b.png two\" is not a name, a tab and a caption").c_str(), ValueError);
}

TEST_CASE("a batch of captions: pictures side by side, captions packed") {
  const auto example = [](double value, const std::vector<int32_t>& sentence) {
    const auto [read, said] = read_and_said(sentence);
    return datasets::Example{full({3, 2, 2}, value, Dtype::float32), read, said};
  };
  const std::vector<datasets::Example> batch = {example(1, {7}), example(2, {8, 9})};
  const datasets::Example joined = join_captions(batch, Device());
  REQUIRE(joined.size() == 5);
  CHECK(joined[0].shape() == Shape{2, 3, 2, 2});
  CHECK(joined[0].to_vector<double>()[12] == 2);
  // The longer one first.
  CHECK(joined[1].to_vector<int32_t>() == std::vector<int32_t>{kEnd, kEnd, 8, 7, 9});
  CHECK(joined[2].to_vector<int64_t>() == std::vector<int64_t>{2, 3});
  CHECK(joined[3].to_vector<int32_t>() == std::vector<int32_t>{8, 7, 9, kEnd, kEnd});
}

TEST_CASE("a caption net with a frozen ResNet learns all but that") {
  CaptionNet<FrozenResNet> model(FrozenResNet(64), 5, 4);
  CHECK(model.cnn.preparation.size == 64);
  const auto [read, said] = read_and_said({2, 3});
  const datasets::Example picture{zeros({3, 64, 64}), read, said};
  optimizers::SGD optimizer;
  optimizer.setup(model);
  const Array weights = model.cnn.resnet.conv1.W.array().copy();
  std::vector<Variable> columns;
  for (const Array& array : join_captions(std::vector<datasets::Example>{picture}, Device())) {
    columns.emplace_back(array, false);
  }
  optimizer.update([&] { return model(columns[0], columns[1], columns[2], columns[3], columns[4]); });
  CHECK(model.cnn.resnet.conv1.W.to_vector<float>() == weights.to_vector<float>());
  CHECK(model.out.W.grad().is_defined());
  CHECK(model.describe(zeros({2, 3, 64, 64}), 2, 6).size() == 2);
}

TEST_CASE("what a speaker finds likeliest is found by looking at all sentences") {
  random::seed(1);
  const int64_t words = 4;  // with <UNK> and <EOS>
  constexpr size_t longest = 2;
  const L::EmbedID embed(words, 3);
  const L::NStepLSTM decoder(1, 3, 3, 0.0);
  const L::Linear out(3, words);
  out.W.array() *= Scalar(20.0);
  const Variable states(array(std::vector<float>{0.9F, -0.8F, 0.5F, -0.7F, 0.9F, 0.9F}, {1, 2, 3}), false);
  std::vector<std::vector<int32_t>> all = {{}};
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].size() == longest) break;
    for (const int32_t word : {0, 2, 3}) {
      all.push_back(all[i]);
      all.back().push_back(word);
    }
  }
  const auto said = say_likeliest({embed, decoder, out}, states, {}, 16, longest);
  REQUIRE(said.size() == 2);
  for (int64_t row = 0; row < 2; ++row) {
    CAPTURE(row);
    const Variable h = F::get_item(states, {Slice{}, Slice{row, row + 1}});
    // Those of the greatest length need not end; long ones are preferred as beam_search says.
    const auto score = [&](std::vector<int32_t> sentence) {
      const auto length = static_cast<double>(sentence.size());
      if (sentence.size() < longest) sentence.push_back(kEnd);
      std::vector<int32_t> read{kEnd};
      read.insert(read.end(), sentence.begin(), sentence.end() - 1);
      const auto [hy, cy, ys] = decoder(h, {}, {embed(Variable(array(read), false))});
      const Variable loss =
          F::softmax_cross_entropy(out(ys[0]), Variable(array(sentence), false), {.reduce = F::Reduce::no});
      return -F::sum(loss).array().item<double>() / std::pow((5 + length) / 6, 0.6);
    };
    const auto best = std::ranges::max(all, {}, score);
    CHECK(said[static_cast<size_t>(row)].to_vector<int32_t>() == best);
  }
  CHECK(said[0].to_vector<int32_t>() != said[1].to_vector<int32_t>());
}

}  // namespace
}  // namespace kusari::image_captioning_test
