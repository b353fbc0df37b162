#include "kusari/framework/links/detection/faster_rcnn.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/functions/pooling/roi_average_align_2d.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/tests/links/detection/drawn_weights.h"

// That its numbers are torchvision's is tested in networks_test.cc.
namespace kusari::testing {
namespace {

/// Two images of 64 x 64 with boxes; the second has one box less, and a row that fills up.
struct BoxBatch {
  Array x = drawn_array("x", {2, 3, 64, 64}, -1, 1);
  Array bbox = array<float>({5, 5, 40, 50, 20, 10, 60, 30,  //
                             8, 30, 50, 60, 0, 0, 0, 0},
                            {2, 2, 4});
  Array label = array<int32_t>({0, 1, 1, -1}, {2, 2});
};

L::FasterRCNNOptions small() { return {.n_classes = 2, .depth = 18}; }

TEST_CASE("a region is seen on the map of its size") {
  const auto level = [](float side) { return L::level_of_region({3, 5, 3 + side, 5 + side}, 4); };
  CHECK(level(223.9F) == 1);
  CHECK(level(224) == 2);
  CHECK(level(447) == 2);
  CHECK(level(448) == 3);
  CHECK(level(2000) == 3);  // there is no higher one
  CHECK(level(112) == 1);
  CHECK(level(111) == 0);
  CHECK(level(1) == 0);
  CHECK(L::level_of_region({0, 0, 112, 448}, 4) == 2);  // of the area
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  CHECK(L::level_of_region({0, 0, kNan, 448}, 4) == 0);
  CHECK(L::level_of_region({0, 0, kInfinity, 448}, 4) == 3);
  CHECK_THROWS_AS(L::level_of_region({0, 0, 1, 1}, std::numeric_limits<int64_t>::min()), ValueError);
}

TEST_CASE("RegionHead gives the rows of the regions in their order, whatever their levels") {
  L::RegionHead head(3, 2, 5);
  draw_weights(head);
  std::vector<Variable> maps;
  for (const int64_t side : {80, 40, 20, 10}) maps.emplace_back(drawn_array("map", {2, 3, side, side}, -1, 1), false);
  const std::vector<std::vector<Box>> regions = {{{10, 10, 260, 300}, {40, 60, 80, 90}, {0, 0, 150, 160}},
                                                 {{5, 9, 50, 70}, {100, 50, 310, 300}}};
  const auto [locs, confs] = head(maps, regions);
  REQUIRE(locs.shape() == Shape{5, 8});
  REQUIRE(confs.shape() == Shape{5, 2});
  int64_t row = 0;
  for (int64_t i = 0; i < 2; ++i) {
    for (const Box& region : regions[static_cast<size_t>(i)]) {
      CAPTURE(row);
      const int64_t level = L::level_of_region(region, 4);
      const Variable pooled = functions::roi_average_align_2d(
          maps[static_cast<size_t>(level)], Variable(bbox_array(std::vector<Box>{region}), false),
          Variable(array<int64_t>({i}), false), 7, std::exp2(-2.0 - static_cast<double>(level)), 2);
      // The layers by hand.
      std::vector<double> h = pooled.array().to_vector<double>();
      for (const L::Linear* const layer : {&head.fc6, &head.fc7, &head.conf}) {
        const std::vector<double> W = layer->W.array().to_vector<double>(), b = layer->b.array().to_vector<double>();
        std::vector<double> y = b;
        for (size_t o = 0; o < y.size(); ++o) {
          for (size_t k = 0; k < h.size(); ++k) y[o] += W[o * h.size() + k] * h[k];
          if (layer != &head.conf) y[o] = std::fmax(y[o], 0);
        }
        h = y;
      }
      for (int64_t c = 0; c < 2; ++c) {
        CHECK(confs.array().at(row).at(c).item<double>() == doctest::Approx(h[static_cast<size_t>(c)]).epsilon(1e-4));
      }
      ++row;
    }
  }
  CHECK_THROWS_AS(head(maps, {{{0, 0, 1, 1}}}), ValueError);
  CHECK_THROWS_WITH_AS(head(maps, {{}, {}}), "L::RegionHead: there is no region: it must be one at least", ValueError);
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  CHECK_THROWS_AS(L::RegionHead(1, kLeast, 3), ValueError);
  CHECK_THROWS_AS(L::RegionHead(kMost, 2, 3), ValueError);
  CHECK_THROWS_AS(L::RegionProposalHead(1, kMost), ValueError);
  CHECK_THROWS_AS(L::FasterRCNN({.n_classes = kMost, .depth = 18}), ValueError);
}

TEST_CASE("Faster R-CNN's calls, presets and boxes") {
  L::FasterRCNN model(small());
  draw_weights(model);
  model.preparation = {.fit = L::DetectorFit::longer_side, .size = 96};
  CHECK(model.decoding.score_thresh == 0.5);
  model.use_preset("evaluate");
  CHECK(model.decoding.score_thresh == 0.05);
  CHECK(model.decoding.nms_thresh == 0.5);
  CHECK(model.decoding.limit == 100);
  {
    const auto no_graph = no_backprop_mode();
    const auto [locs, confs] = model(drawn_array("x", {2, 3, 72, 100}, -1, 1));
    const auto anchors = static_cast<int64_t>(model.coder(72, 100).anchors().size());
    CHECK(locs.shape() == Shape{2, anchors, 4});
    CHECK(confs.shape() == Shape{2, anchors, 1});
  }
  const Array wide = drawn_array("wide", {3, 40, 160}, 0, 256).astype(Dtype::uint8);
  const Array tall = drawn_array("tall", {3, 200, 90}, 0, 256).astype(Dtype::uint8);
  model.decoding.score_thresh = 0;
  const std::vector<Detections> found = model.predict({wide, tall});
  REQUIRE(found.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    const Array& image = i == 0 ? wide : tall;
    CHECK(found[i].bbox.size() > 10);
    for (const Box& box : found[i].bbox) {
      CHECK((box.y_min >= 0 && box.x_min >= 0 && box.height() > 0 && box.width() > 0));
      CHECK(box.y_max <= static_cast<float>(image.shape(1)) + 1e-3F);
      CHECK(box.x_max <= static_cast<float>(image.shape(2)) + 1e-3F);
    }
  }
  CHECK(model.predict({tall})[0].label == found[1].label);
  CHECK(config().train);
  CHECK_THROWS_AS(model.find(zeros({2, 3, 96, 96}), {model.prepare(wide)}), ValueError);
  CHECK_THROWS_AS(L::FasterRCNN({.n_classes = 2, .depth = 18, .grid = L::AnchorGrid({.levels = {3, 4}})}), ValueError);
  CHECK_THROWS_AS(L::FasterRCNN({.n_classes = 2, .depth = 18, .proposals = {.test_limit = 0}}), ValueError);
}

TEST_CASE("Faster R-CNN proposes as many regions as it is told, more of them in training") {
  L::FasterRCNNOptions options = small();
  options.proposals = {.train_candidates = 30, .test_candidates = 5, .train_limit = 40, .test_limit = 9};
  L::FasterRCNN model(options);
  draw_weights(model);
  model.proposals.nms_thresh = 1;  // nothing is dropped
  const auto no_graph = no_backprop_mode();
  const L::ImageExtent extents[] = {{64, 64}, {50, 40}};
  const L::FasterRCNN::FirstLook seen = model.look(BoxBatch().x);
  for (const std::vector<Box>& own : model.propose(seen, 64, 64, extents)) CHECK(own.size() == 40);
  const auto evaluation = using_config(&Config::train, false);
  const std::vector<std::vector<Box>> regions = model.propose(seen, 64, 64, extents);
  for (const std::vector<Box>& own : regions) CHECK(own.size() == 9);
  for (const Box& region : regions[1]) CHECK((region.y_max <= 50 && region.x_max <= 40));
}

TEST_CASE("Faster R-CNN's losses are reported, drawn again from the same seed, and have gradients for all parameters") {
  random::seed(7);
  L::DetectionTrainChain chain{L::FasterRCNN(small())};
  const BoxBatch batch;
  random::seed(1);
  Reporter reporter;
  reporter.add_observer("main", chain);
  Observation seen;
  {
    const auto scope = reporter.scope(seen);
    chain.cleargrads();
    chain(batch.x, batch.bbox, batch.label).backward();
  }
  const double loss = chain.loss.item<double>();
  CHECK(seen.at("main/loss") == doctest::Approx(loss));
  double sum = 0;
  for (const char* const part : {"loss/loc", "loss/conf", "loss/rpn_loc", "loss/rpn_conf"}) {
    sum += static_cast<double>(seen.at(std::string("main/") + part));
  }
  CHECK(sum == doctest::Approx(loss));
  // Before training the first look says nothing, and the second little.
  CHECK(chain.rpn_conf_loss.item<double>() == doctest::Approx(std::log(2)).epsilon(0.02));
  CHECK((chain.conf_loss.item<double>() > 0.02 && chain.conf_loss.item<double>() < 8));
  for (const auto& [path, parameter] : chain.namedparams()) {
    CAPTURE(path);
    REQUIRE(parameter->has_gradient());
    double norm = 0;
    for (const double g : parameter->grad().to_vector<double>()) norm += g * g;
    CHECK((norm > 0 && std::isfinite(norm)));
  }
  random::seed(1);
  CHECK(chain(batch.x, batch.bbox, batch.label).item<double>() == loss);
  // Without boxes all is background.
  chain(batch.x, zeros({2, 0, 4}), zeros({2, 0}, Dtype::int32));
  CHECK(chain.loc_loss.item<double>() == 0);
  CHECK(chain.rpn_loc_loss.item<double>() == 0);
  CHECK(chain.conf_loss.item<double>() > 0);
}

TEST_CASE("Faster R-CNN trains in 16 bits") {
  random::seed(7);
  L::DetectionTrainChain chain{L::FasterRCNN(small())};
  const BoxBatch batch;
  random::seed(1);
  const double full = chain(batch.x, batch.bbox, batch.label).item<double>();
  for (const Dtype dtype : {Dtype::bfloat16, Dtype::float16}) {
    CAPTURE(name(dtype));
    chain.cleargrads();
    random::seed(1);
    {
      const amp::Autocast autocast({.dtype = dtype});
      CHECK(chain.model(batch.x).second.dtype() == dtype);
      chain(batch.x, batch.bbox, batch.label);
    }
    CHECK(chain.loss.dtype() == Dtype::float32);
    // Other regions may be proposed, and drawn.
    CHECK(chain.loss.item<double>() == doctest::Approx(full).epsilon(0.5));
    chain.loss.backward();
    for (const auto& [path, parameter] : chain.namedparams()) {
      CAPTURE(path);
      CHECK(parameter->grad().dtype() == Dtype::float32);
    }
  }
}

/// Batches of one shape with other boxes in each, and the losses of a step with each.
struct StepLosses {
  std::vector<double> losses;
  std::vector<double> gradients;  // of some numbers of all parameters, after the last
};

StepLosses take_steps(const L::FasterRCNNOptions& options, bool is_static) {
  random::seed(7);
  L::DetectionTrainChain chain{L::FasterRCNN(options)};
  int calls = 0;
  auto graph = static_graph([&](const Variable& x, const Variable& bbox, const Variable& label) {
    ++calls;
    return chain(x, bbox, label);
  });
  random::seed(1);
  StepLosses result;
  for (int i = 0; i < 4; ++i) {
    BoxBatch batch;
    batch.x = drawn_array("x" + std::to_string(i), {2, 3, 64, 64}, -1, 1);
    batch.bbox = batch.bbox + static_cast<double>(i);
    if (i == 2) batch.label.fill(int64_t{-1});
    chain.cleargrads();
    const Variable x(batch.x, false), bbox(batch.bbox, false), label(batch.label, false);
    const Variable loss = is_static ? graph(x, bbox, label) : chain(x, bbox, label);
    result.losses.push_back(loss.item<double>());
    for (const Variable* const each :
         {&chain.loss, &chain.loc_loss, &chain.conf_loss, &chain.rpn_loc_loss, &chain.rpn_conf_loss}) {
      result.losses.push_back(each->item<double>());
    }
    loss.backward();
  }
  for (const auto& [path, parameter] : chain.namedparams()) {
    result.gradients.push_back(projection(path, parameter->grad()));
  }
  if (is_static) CHECK(calls <= 2);
  return result;
}

TEST_CASE("a static graph of Faster R-CNN's chain chooses anchors and regions anew in each replay") {
  L::FasterRCNNOptions options = small();
  SUBCASE("regions are drawn") { options.region_samples = 64; }
  SUBCASE("there are fewer regions than it may draw") { options.proposals.train_limit = 40; }
  const StepLosses plain = take_steps(options, false), replayed = take_steps(options, true);
  for (size_t i = 0; i < plain.losses.size(); ++i) {
    CAPTURE(i);
    CHECK(replayed.losses[i] == doctest::Approx(plain.losses[i]).epsilon(1e-5));
  }
  CHECK(plain.losses[0] != doctest::Approx(plain.losses[6]).epsilon(1e-3));
  for (size_t i = 0; i < plain.gradients.size(); ++i) {
    CAPTURE(i);
    CHECK(replayed.gradients[i] == doctest::Approx(plain.gradients[i]).epsilon(1e-2).scale(1e-3));
  }
}

TEST_CASE("calls of Faster R-CNN's static graph keep their regions until their backward") {
  L::FasterRCNNOptions options = small();
  options.region_samples = 64;
  random::seed(7);
  L::DetectionTrainChain chain{L::FasterRCNN(options)};
  const auto sum_of = [&](auto& call) {
    random::seed(1);
    chain.cleargrads();
    const BoxBatch batch;
    const auto at = [&](double offset) {
      return call(Variable(batch.x, false), Variable(batch.bbox + offset, false), Variable(batch.label, false));
    };
    const Variable first = at(0), second = at(3);
    first.backward();
    second.backward();
    return projection("W", chain.model.head.fc6.W.grad());
  };
  const double expected = sum_of(chain);
  auto graph = static_graph(chain);
  for (int i = 0; i < 3; ++i) CHECK(sum_of(graph) == doctest::Approx(expected).epsilon(1e-3));
}

TEST_CASE("a static graph of Faster R-CNN replays its first look; what the host chooses is refused") {
  L::FasterRCNN model(small());
  draw_weights(model);
  const auto no_graph = no_backprop_mode();
  const auto no_training = using_config(&Config::train, false);
  const BoxBatch batch;
  auto graph = static_graph([&](const Variable& x) {
    const L::FasterRCNN::FirstLook seen = model.look(x);
    Variables all(seen.locs, seen.confs);
    for (const Variable& map : seen.maps) all.push_back(map);
    return all;
  });
  const L::PreparedImage prepared{empty({3, 64, 64})};
  const L::ImageExtent extents[] = {{64, 64}, {64, 64}};
  model.decoding.score_thresh = 0.1;
  for (int i = 0; i < 3; ++i) {
    const Variables all = graph(batch.x);
    const L::FasterRCNN::FirstLook seen{{all[2], all[3], all[4], all[5], all[6]}, all[0], all[1]};
    const std::vector<Detections> found = model.find_again(seen, 64, 64, extents);
    const std::vector<Detections> expected = model.find(batch.x, {prepared, prepared});
    REQUIRE(!expected[0].bbox.empty());
    for (size_t k = 0; k < 2; ++k) CHECK(found[k].label == expected[k].label);
  }
  auto whole = static_graph([&](const Variable& x) {
    model.find(x, {prepared, prepared});
    return x;
  });
  std::string message;
  try {
    whole(batch.x);
  } catch (const StateError& error) {
    message = error.what();
  }
  CHECK(message.find("L::FasterRCNN::propose: how many regions of an image are looked at again depends on the numbers "
                     "in the image") != std::string::npos);
  L::FasterRCNNOptions options = small();
  options.region_samples = 0;
  L::DetectionTrainChain chain{L::FasterRCNN(options)};
  const auto training = using_config(&Config::train, true);
  auto step = static_graph(chain);
  CHECK_THROWS_AS(step(batch.x, batch.bbox, batch.label), StateError);
}

TEST_CASE("Faster R-CNN's chain refuses boxes that do not fit") {
  const BoxBatch batch;
  random::seed(7);
  L::DetectionTrainChain chain{L::FasterRCNN(small())};
  CHECK_THROWS_AS(chain(batch.x, zeros({2, 2, 5}), batch.label), TypeError);
  CHECK_THROWS_AS(chain(batch.x, zeros({1, 2, 4}), batch.label), TypeError);
  CHECK_THROWS_AS(chain(batch.x, batch.bbox, batch.bbox), TypeError);
  CHECK_THROWS_AS(chain(batch.x, batch.bbox, Variable()), TypeError);
  CHECK_THROWS_AS(chain(batch.x, batch.bbox, zeros({2, 2}, Dtype::int32)), ValueError);  // the row of zeros is a box
  CHECK_THROWS_WITH_AS(chain(batch.x, batch.bbox, array<int32_t>({0, 1, 2, -1}, {2, 2})),
                       "L::DetectionTrainChain: label is 2: it must be in [0, 2)", ValueError);
  const auto training = using_config(&Config::train, true);
  auto step = static_graph(chain);
  for (int i = 0; i < 2; ++i) step(batch.x, batch.bbox, batch.label);
  CHECK_THROWS_AS(step(batch.x, batch.bbox, array<int32_t>({0, 1'000'000, 1, -1}, {2, 2})), ValueError);
}

}  // namespace
}  // namespace kusari::testing
