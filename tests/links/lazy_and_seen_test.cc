#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/links/activation/maxout.h"
#include "kusari/framework/links/activation/prelu.h"
#include "kusari/framework/links/activation/simplified_dropconnect.h"
#include "kusari/framework/links/activation/swish.h"
#include "kusari/framework/links/connection/bias.h"
#include "kusari/framework/links/connection/bilinear.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/deconvolution_2d.h"
#include "kusari/framework/links/connection/deformable_convolution_2d.h"
#include "kusari/framework/links/connection/depthwise_convolution_2d.h"
#include "kusari/framework/links/connection/dilated_convolution_2d.h"
#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/connection/highway.h"
#include "kusari/framework/links/connection/inception.h"
#include "kusari/framework/links/connection/inceptionbn.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/connection/local_convolution_2d.h"
#include "kusari/framework/links/connection/mlp_convolution_2d.h"
#include "kusari/framework/links/connection/parameter_link.h"
#include "kusari/framework/links/connection/scale.h"
#include "kusari/framework/links/link_hooks/timer_hook.h"
#include "kusari/framework/links/loss/binary_hierarchical_softmax.h"
#include "kusari/framework/links/loss/black_out.h"
#include "kusari/framework/links/loss/crf1d.h"
#include "kusari/framework/links/loss/negative_sampling.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/normalization/batch_renormalization.h"
#include "kusari/framework/links/normalization/decorrelated_batch_normalization.h"
#include "kusari/framework/links/normalization/group_normalization.h"
#include "kusari/framework/links/normalization/instance_normalization.h"
#include "kusari/framework/links/normalization/layer_normalization.h"
#include "kusari/framework/links/normalization/rms_normalization.h"
#include "kusari/framework/links/rnn/gru.h"
#include "kusari/framework/links/rnn/lstm.h"
#include "kusari/framework/links/rnn/n_step_gru.h"
#include "kusari/framework/links/rnn/n_step_lstm.h"
#include "kusari/framework/links/rnn/n_step_rnn.h"
#include "kusari/framework/links/rnn/peephole_lstm.h"
#include "kusari/framework/links/rnn/zoneout_lstm.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/links/models.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

Variable images() { return Variable(ones({2, 4, 8, 8})); }
Variable vectors() { return Variable(ones({3, 4})); }
Variable labels() { return Variable(ones({3}, Dtype::int32), false); }

TEST_CASE("hooks see the calls of all links") {
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"Maxout", [] { L::Maxout(4, 2, 3)(vectors()); }},
      {"PReLU", [] { L::PReLU()(vectors()); }},
      {"Swish", [] { L::Swish(Shape{4})(vectors()); }},
      {"Bias", [] { L::Bias({.shape = Shape{4}})(vectors()); }},
      {"Bias", [] { L::Bias()(vectors(), Variable(ones({4}))); }},
      {"Bilinear", [] { L::Bilinear(4, 4, 2)(vectors(), vectors()); }},
      {"Convolution2D", [] { L::Convolution2D(4, 3, 3)(images()); }},
      {"Convolution1D",
       [] {
         L::Convolution1D(4, 3, 3)(Variable(ones({2, 4, 8})));
       }},
      {"Deconvolution2D", [] { L::Deconvolution2D(4, 3, 3)(images()); }},
      {"DeformableConvolution2D", [] { L::DeformableConvolution2D(4, 3, 3)(images()); }},
      {"DepthwiseConvolution2D", [] { L::DepthwiseConvolution2D(4, 2, 3)(images()); }},
      {"DilatedConvolution2D", [] { L::DilatedConvolution2D(4, 2, 3)(images()); }},
      {"EmbedID", [] { L::EmbedID(4, 2)(Variable(ones({3}, Dtype::int32))); }},
      {"Highway", [] { L::Highway(4)(vectors()); }},
      {"Inception",
       [] {
         L::Inception(4, {1, 1, 1, 1, 1, 1})(images());
       }},
      {"Linear", [] { L::Linear(4, 2)(vectors()); }},
      {"LocalConvolution2D", [] { L::LocalConvolution2D(4, 2, 8, 3)(images()); }},
      {"MLPConvolution2D",
       [] {
         L::MLPConvolution2D(4, {3, 2}, 3)(images());
       }},
      {"ParameterLink", [] { L::ParameterLink(ones({3}))(); }},
      {"Scale", [] { L::Scale({.w_shape = Shape{4}})(vectors()); }},
      {"Scale", [] { L::Scale()(vectors(), Variable(ones({4}))); }},
      {"BinaryHierarchicalSoftmax", [] { L::BinaryHierarchicalSoftmax(4, L::BinaryTree(0, 1))(vectors(), labels()); }},
      {"BlackOut",
       [] {
         L::BlackOut(4, {1, 1}, 1, {.initial_w = 0})(vectors(), labels());
       }},
      {"CRF1d", [] { L::CRF1d(4)({vectors()}, {labels()}); }},
      {"NegativeSampling",
       [] {
         L::NegativeSampling(4, {1, 1}, 1)(vectors(), labels());
       }},
      {"BatchNormalization", [] { L::BatchNormalization{4}(images()); }},
      {"BatchNormalization", [] { L::BatchNormalization{4}.relu(images()); }},
      {"BatchNormalization", [] { L::BatchNormalization{4}.add_relu(images(), images()); }},
      {"BatchRenormalization", [] { L::BatchRenormalization{4}(images()); }},
      {"DecorrelatedBatchNormalization", [] { L::DecorrelatedBatchNormalization(4, {.groups = 2})(images()); }},
      {"GroupNormalization", [] { L::GroupNormalization(2)(images()); }},
      {"LayerNormalization", [] { L::LayerNormalization{4}(vectors()); }},
  };
  for (const auto& [name, call] : calls) {
    CAPTURE(name);
    link_hooks::TimerHook timer;
    {
      const ScopedLinkHook scope(timer);
      call();
    }
    int64_t seen = 0;
    for (const TimeRecord& record : timer.summary()) seen += record.name == name ? record.occurrence : 0;
    CHECK(seen == 1);
  }
}

template <class Link, class Call>
void check_lazy(const char* name, const Link& lazy, const Call& call) {
  CAPTURE(name);
  const ScratchDirectory dir;
  Link link(lazy), loaded(lazy), assigned(lazy);
  const std::vector<std::string> known = paths(link);
  CHECK(link.params(false).size() < known.size());
  CHECK_NOTHROW(link.cleargrads());
  serializers::save_npz(dir / "before.npz", link);
  call(link);
  CHECK(link.params(false).size() == known.size());
  CHECK(paths(link) == known);
  serializers::save_npz(dir / "after.npz", link);
  // None in a snapshot leaves a link as it is, numbers give it its shape.
  serializers::load_npz(dir / "before.npz", loaded);
  CHECK(loaded.params(false).size() < known.size());
  serializers::load_npz(dir / "after.npz", loaded);
  assigned.copyparams(link);
  for (size_t i = 0; i < known.size(); ++i) {
    CAPTURE(known[i]);
    const std::vector<float> numbers = link.params()[i]->template to_vector<float>();
    REQUIRE(loaded.params()[i]->is_initialized());
    CHECK(loaded.params()[i]->template to_vector<float>() == numbers);
    CHECK(assigned.params()[i]->template to_vector<float>() == numbers);
  }
}

TEST_CASE("links whose sizes the first batch decides") {
  const auto on_images = [](auto& link) { link(images()); };
  const auto on_vectors = [](auto& link) { link(vectors()); };
  check_lazy("Linear", L::Linear(3), on_vectors);
  check_lazy("Convolution2D", L::Convolution2D(3, PerAxis(3)), on_images);
  check_lazy("Convolution2D, groups", L::Convolution2D(kInfer, 4, 3, {.groups = 2}), on_images);
  check_lazy("Convolution3D", L::Convolution3D(kInfer, 3, 2), [](auto& link) {
    link(Variable(ones({1, 2, 3, 3, 3})));
  });
  check_lazy("Deconvolution2D", L::Deconvolution2D(3, PerAxis(3)), on_images);
  check_lazy("DepthwiseConvolution2D", L::DepthwiseConvolution2D(kInfer, 2, 3), on_images);
  check_lazy("DilatedConvolution2D", L::DilatedConvolution2D(kInfer, 2, 3), on_images);
  check_lazy("DeformableConvolution2D", L::DeformableConvolution2D(kInfer, 2, 3), on_images);
  check_lazy("Inception", L::Inception(kInfer, {1, 1, 1, 1, 1, 1}), on_images);
  check_lazy("LocalConvolution2D", L::LocalConvolution2D(kInfer, 2, kInfer, 3), on_images);
  check_lazy("MLPConvolution2D", L::MLPConvolution2D(kInfer, {3, 2}, 3), on_images);
  check_lazy("BatchNormalization", L::BatchNormalization{kInfer}, on_images);
  check_lazy("GroupNormalization", L::GroupNormalization(2), on_images);
  check_lazy("LayerNormalization", L::LayerNormalization{}, on_vectors);
  check_lazy("Swish", L::Swish(std::nullopt), on_vectors);
}

template <class Link>
void check_refused(const char* name, Link link, const std::vector<Array>& wrong, const Array& right) {
  CAPTURE(name);
  for (const Array& x : wrong) {
    CAPTURE(x.shape());
    CHECK_THROWS_AS(link(Variable(x)), Error);
    CHECK(link.params(false).size() < link.params().size());
  }
  CHECK_NOTHROW(link(Variable(right)));
}

TEST_CASE("a call that is refused decides on no size") {
  const Array vectors = ones({2, 6}), images = ones({2, 6, 4, 4});
  const auto integers = [](const Shape& shape) { return ones(shape, Dtype::int32); };
  check_refused("Linear", L::Linear(3), {ones({5}), ones({}), integers({2, 5})}, vectors);
  check_refused("SimplifiedDropconnect", L::SimplifiedDropconnect(kInfer, 3), {ones({5}), integers({2, 5})}, vectors);
  check_refused("Swish", L::Swish(std::nullopt), {integers({2, 5})}, vectors);
  check_refused("LSTM", L::LSTM(3), {ones({5}), integers({2, 5})}, vectors);
  check_refused("GroupNormalization", L::GroupNormalization(2), {ones({5}), ones({4, 5}), integers({2, 4})}, vectors);
  check_refused("BatchNormalization", L::BatchNormalization(kInfer), {ones({5}), integers({2, 5})}, vectors);
  check_refused("LayerNormalization", L::LayerNormalization(), {integers({2, 5})}, vectors);
  check_refused("RMSNormalization", L::RMSNormalization(kInfer), {integers({2, 5})}, vectors);
  check_refused("InstanceNormalization", L::InstanceNormalization(kInfer), {ones({2, 5}), integers({2, 5, 4})}, images);
  const std::vector<Array> wrong{ones({2, 5, 4}), ones({2, 5, 2, 2}), integers({2, 5, 4, 4})};
  check_refused("Convolution2D", L::Convolution2D(kInfer, 3, 3), wrong, images);
  check_refused("DepthwiseConvolution2D", L::DepthwiseConvolution2D(kInfer, 2, 3), wrong, images);
  check_refused("DeformableConvolution2D", L::DeformableConvolution2D(kInfer, 2, 3), wrong, images);
  check_refused("LocalConvolution2D", L::LocalConvolution2D(kInfer, 2, kInfer, 3), wrong, images);
  check_refused("LocalConvolution2D, of known images", L::LocalConvolution2D(kInfer, 2, 4, 3),
                {ones({2, 5, 5, 5}), ones({2, 5, 4, 3})}, images);
  check_refused("Deconvolution2D", L::Deconvolution2D(kInfer, 3, 3), {ones({2, 5, 4}), integers({2, 5, 4, 4})}, images);
}

template <class Link, class Wrong, class Right>
void check_refused_call(const char* name, Link link, const Wrong& wrong, const Right& right) {
  CAPTURE(name);
  const size_t known = link.params(false).size();
  std::vector<Shape> declared;
  for (const Parameter* parameter : link.params()) declared.push_back(parameter->declared_shape());
  CHECK_THROWS_AS(wrong(link), Error);
  CHECK(link.params(false).size() == known);
  for (size_t i = 0; i < declared.size(); ++i) CHECK(link.params()[i]->declared_shape() == declared[i]);
  CHECK_THROWS_AS(wrong(link), Error);
  CHECK_NOTHROW(right(link));
  CHECK(link.params(false).size() > known);
  const size_t made = link.params(false).size();
  CHECK_THROWS_AS(wrong(link), Error);  // keeps what it had before
  CHECK(link.params(false).size() == made);
}

TEST_CASE("a call that is refused for another reason than x decides on no size either") {
  const auto f32 = [](const Shape& shape) { return Variable(ones(shape)); };
  const auto f64 = [](const Shape& shape) { return Variable(ones(shape, Dtype::float64)); };
  const auto other_dtype = [&](const char* name, auto link, const Shape& shape) {
    check_refused_call(
        name, link, [&](auto& l) { l(f64(shape)); }, [&](auto& l) { l(f32(shape)); });
  };
  other_dtype("Linear", L::Linear(3), {2, 5});
  other_dtype("Swish", L::Swish(std::nullopt), {2, 5});
  other_dtype("Convolution2D", L::Convolution2D(kInfer, 3, 3), {2, 5, 4, 4});
  other_dtype("Deconvolution2D", L::Deconvolution2D(kInfer, 3, 3), {2, 5, 4, 4});
  other_dtype("DepthwiseConvolution2D", L::DepthwiseConvolution2D(kInfer, 2, 3), {2, 5, 4, 4});
  other_dtype("LocalConvolution2D", L::LocalConvolution2D(kInfer, 2, kInfer, 3), {2, 5, 4, 4});
  check_refused_call(
      "SimplifiedDropconnect", L::SimplifiedDropconnect(kInfer, 3),
      [&](auto& l) {
        l(f32({2, 5}), {.mask = ones({7})});
      },
      [&](auto& l) {
        l(f32({2, 5}));
      });
  check_refused_call(
      "DeformableConvolution2DSampler", L::DeformableConvolution2DSampler(kInfer, 3, 3),
      [&](auto& l) {
        l(f32({2, 5, 4, 4}), f32({2, 5, 4, 4}));
      },
      [&](auto& l) {
        l(f32({2, 5, 4, 4}), f32({2, 18, 2, 2}));
      });
  const std::vector<Variable> xs{f32({3, 5}), f32({2, 5})};
  check_refused_call(
      "NStepLSTM", L::NStepLSTM(1, kInfer, 4, 0),
      [&](auto& l) {
        l(f32({1, 3, 4}), f32({1, 2, 4}), xs);
      },
      [&](auto& l) { l({}, {}, xs); });
  check_refused_call(
      "NStepBiGRU", L::NStepBiGRU(2, kInfer, 4, 0),
      [&](auto& l) {
        l(f32({1, 2, 4}), xs);
      },
      [&](auto& l) { l({}, xs); });
  check_refused_call(
      "NStepRNNTanh", L::NStepRNNTanh(1, kInfer, 4, 0),
      [&](auto& l) {
        l(f32({1, 3, 4}), xs);
      },
      [&](auto& l) { l({}, xs); });
  check_refused_call(
      "StatelessLSTM", L::StatelessLSTM(kInfer, 4),
      [&](auto& l) {
        l(f32({2, 4}), f32({2, 7}), f32({2, 5}));
      },
      [&](auto& l) {
        l(f32({2, 4}), f32({2, 4}), f32({2, 5}));
      });
  const auto with_state = [&](const char* name, auto link) {
    check_refused_call(
        name, link,
        [&](auto& l) {
          l.set_state(f32({2, 4}), f32({2, 7}));
          l(f32({2, 5}));
        },
        [&](auto& l) {
          l.reset_state();
          l(f32({2, 5}));
        });
  };
  with_state("LSTM", L::LSTM(kInfer, 4));
  with_state("StatefulPeepholeLSTM", L::StatefulPeepholeLSTM(kInfer, 4));
  with_state("StatefulZoneoutLSTM", L::StatefulZoneoutLSTM(kInfer, 4));
  // What the second call makes.
  check_refused_call(
      "StatefulGRU", L::StatefulGRU(kInfer, 4), [&](auto& l) { l(f32({5})); },
      [&](auto& l) {
        l(f32({2, 5}));
        const size_t made = l.params(false).size();
        CHECK_THROWS_AS(l(f32({2, 7})), Error);
        CHECK(l.params(false).size() == made);
        l(f32({2, 5}));
      });
}

TEST_CASE("a refused first call leaves other threads what they need") {
  for (int round = 0; round < 20; ++round) {
    L::Linear link(3);
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k) {
      threads.emplace_back([&link, k] {
        if (k % 2 == 0) {
          CHECK_THROWS_AS(link(Variable(ones({2, 6 + k}, Dtype::float64))), Error);
        } else {
          CHECK_NOTHROW(link(Variable(ones({2, 5}))));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(link.W.shape() == Shape{3, 5});
  }
}

}  // namespace
}  // namespace kusari::testing
