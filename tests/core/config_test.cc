#include "kusari/framework/core/config.h"

#include <cstdlib>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/core/child_process.h"

namespace kusari {
namespace {

// Runs f in a fresh thread, whose Config has nothing of its own.
template <class F>
void in_thread(F f) {
  std::thread(f).join();
}

TEST_CASE("defaults are Chainer's") {
  const testing::ChildResult child =
      testing::run_in_child("-u CHAINER_DTYPE -u KUSARI_DTYPE", "print the configuration");
  CHECK(child.exit_code == 0);
  CHECK(child.output.find("autotune                       False\n"
                          "channels_last                  True\n"
                          "cudnn_deterministic            False\n"
                          "cudnn_fast_batch_normalization False\n"
                          "debug                          False\n"
                          "dtype                          float32\n"
                          "enable_backprop                True\n"
                          "in_recomputing                 False\n"
                          "keep_graph_on_report           False\n"
                          "save_memory                    False\n"
                          "train                          True\n"
                          "type_check                     True\n"
                          "use_cudnn                      auto\n"
                          "use_cudnn_tensor_core          auto\n"
                          "use_static_graph               True\n"
                          "use_tf32                       True\n"
                          "warn_nondeterministic          False\n") != std::string::npos);
}

TEST_CASE("a thread's value hides the global one until it is reset") {
  in_thread([] {
    CHECK_FALSE(config().debug);
    global_config().debug = true;
    CHECK(config().debug);
    config().debug = false;
    CHECK_FALSE(config().debug);
    CHECK(global_config().debug);
    in_thread([] { CHECK(config().debug); });  // another thread sees the global value, not this thread's
    CHECK(config().debug.own() == false);
    config().debug.reset();
    CHECK_FALSE(config().debug.own().has_value());
    CHECK(config().debug);
    global_config().debug.reset();  // nothing to fall back to: the value stays
    CHECK(global_config().debug);
    global_config().debug = false;
    CHECK_FALSE(config().debug);
  });
}

TEST_CASE("guards restore what was there") {
  in_thread([] {
    {
      const auto train = using_config(&Config::train, false);
      CHECK_FALSE(config().train);
      {
        const auto inner = using_config(&Config::train, true);
        CHECK(config().train);
      }
      CHECK_FALSE(config().train);
      CHECK(global_config().train);
    }
    CHECK(config().train);
    CHECK_FALSE(config().train.own().has_value());  // none before, none after

    config().train = false;
    { const auto train = using_config(&Config::train, true); }
    CHECK(config().train.own() == false);
    try {
      const auto train = using_config(&Config::train, true);
      throw ValueError("leaves the scope");
    } catch (const ValueError&) {
    }
    CHECK_FALSE(config().train);
    const auto off = no_backprop_mode();
    CHECK_FALSE(config().enable_backprop);
    const auto on = force_backprop_mode();
    CHECK(config().enable_backprop);
  });
}

TEST_CASE("a snapshot carries a thread's own values to another") {
  in_thread([] {
    config().train = false;
    config().dtype = mixed16;
    const ConfigSnapshot snapshot;
    in_thread([&] {
      config().debug = true;
      snapshot.install();
      CHECK_FALSE(config().train);
      CHECK(config().dtype.get() == mixed16);
      CHECK_FALSE(config().debug.own().has_value());  // the creator had none
      global_config().warn_nondeterministic = true;
      CHECK(config().warn_nondeterministic);  // what nobody set still falls through
      global_config().warn_nondeterministic = false;
    });
  });
}

TEST_CASE("get_dtype reads the policy") {
  in_thread([] {
    CHECK(get_dtype() == Dtype::float32);
    CHECK(get_dtype(Dtype::float64) == Dtype::float64);
    config().dtype = Dtype::float16;
    CHECK(get_dtype() == Dtype::float16);
    CHECK(get_dtype(std::nullopt, Dtype::float32) == Dtype::float16);  // plain float16 is no mixed policy
    config().dtype = mixed16;
    CHECK(get_dtype() == Dtype::float16);
    CHECK(get_dtype(std::nullopt, Dtype::float32) == Dtype::float32);
    CHECK(get_dtype(Dtype::float64, Dtype::float32) == Dtype::float64);
    config().dtype = mixed_bf16;
    CHECK(get_dtype() == Dtype::bfloat16);
    CHECK(config().dtype.get().is_mixed());
    CHECK_FALSE(config().dtype.get() == mixed16);
  });
}

TEST_CASE("environment variables set the global values") {
  const auto output = [](const std::string& environment) {
    const testing::ChildResult child = testing::run_in_child(environment, "print the configuration");
    return child.output;
  };
  const std::string kusari = output(
      "KUSARI_DTYPE=mixed16 KUSARI_TRAIN=0 KUSARI_USE_CUDNN=never KUSARI_LAYOUT=nchw "
      "KUSARI_DEBUG=on");
  CHECK(kusari.find("dtype                          mixed16\n") != std::string::npos);
  CHECK(kusari.find("train                          False\n") != std::string::npos);
  CHECK(kusari.find("use_cudnn                      never\n") != std::string::npos);
  CHECK(kusari.find("channels_last                  False\n") != std::string::npos);
  CHECK(kusari.find("debug                          True\n") != std::string::npos);
  const std::string chainer = output("CHAINER_DTYPE=float16 CHAINER_TYPE_CHECK=0");
  CHECK(chainer.find("dtype                          float16\n") != std::string::npos);
  CHECK(chainer.find("type_check                     False\n") != std::string::npos);
  const std::string both = output("CHAINER_DTYPE=float16 KUSARI_DTYPE=bfloat16");
  CHECK(both.find("dtype                          bfloat16\n") != std::string::npos);
  CHECK(output("CHAINER_DTYPE=Mixed_BF16").find("dtype                          mixed_bf16\n") != std::string::npos);
}

TEST_CASE("a bad environment variable says so") {
  const auto fails = [](const std::string& environment, const std::string& message) {
    const testing::ChildResult child = testing::run_in_child(environment, "print the configuration");
    CHECK(child.exit_code != 0);
    CHECK_MESSAGE(child.output.find(message) != std::string::npos, child.output);
  };
  fails("KUSARI_DTYPE=float8",
        "KUSARI_DTYPE: 'float8' is not float16, bfloat16, float32, float64, mixed16 or mixed_bf16");
  fails("CHAINER_DEBUG=maybe", "CHAINER_DEBUG: 'maybe' is not 0 or 1");
  fails("KUSARI_USE_CUDNN=often", "KUSARI_USE_CUDNN: 'often' is not always, auto or never");
  fails("KUSARI_LAYOUT=chwn", "KUSARI_LAYOUT: 'chwn' is not nchw or nhwc");
}

TEST_CASE("print the configuration" * doctest::skip()) { MESSAGE("\n" << config().show()); }

}  // namespace
}  // namespace kusari
