#include <cmath>

#include "kusari/tests/golden_runner/program/golden_folder.h"

// What cases may give optimizers, hooks, schedules and initializers: every argument of theirs, by name or by position.
namespace kusari {
namespace {

using Json = nlohmann::ordered_json;

Json one_hook(const char* name, const Json& ctor) { return {{"hooks", Json::array({Json::array({name, ctor})})}}; }

class TrainingFolder : public testing::GoldenFolder {
 public:
  /// One step of the optimizer from 1, with gradient 2.
  void add_step(const std::string& id, const std::string& name, const Json& ctor, float expected,
                const Json& setup = Json::object()) {
    add({{"case", id},
         {"kind", "optimizer"},
         {"name", name},
         {"ctor", ctor},
         {"params", {"a"}},
         {"steps", 1},
         {"snapshots", {1}},
         {"states", Json::array()},
         {"setup", setup},
         {"rule_t", {{"a", 1}}},
         {"inputs", {"param/0/a", "grad/a"}},
         {"outputs", {"param/1/a", "t"}}},
        {{"param/0/a", array<float>({1})},
         {"grad/a", array<float>({2}, {1, 1})},
         {"param/1/a", array<float>({expected})},
         {"t", array<int64_t>({1}, Shape{})}});
  }
  /// A schedule of SGD's lr, which is 1.
  void add_shift(const std::string& id, const std::string& name, const Json& ctor, const std::vector<double>& values) {
    add({{"case", id},
         {"kind", "scheduler"},
         {"name", name},
         {"ctor", ctor},
         {"optimizer", "SGD"},
         {"optimizer_ctor", {{"*", {1}}}},
         {"calls", values.size() - 1},
         {"inputs", Json::array()},
         {"outputs", {"values"}},
         {"dtype", "float64"}},
        {{"values", array<double>(values)}});
  }
  /// A trigger that is asked after each of six iterations, three in an epoch; "key" is reported.
  void add_trigger(const std::string& id, const std::string& name, const Json& ctor, const std::string& key,
                   const std::vector<double>& reported, const std::vector<int>& fired) {
    add({{"case", id},
         {"kind", "scheduler"},
         {"name", "triggers." + name},
         {"ctor", ctor},
         {"observation_key", key},
         {"inputs", {"iteration", "epoch", "epoch_detail", "is_new_epoch", "observation"}},
         {"outputs", {"fired"}},
         {"dtype", "float64"}},
        {{"iteration", array<int64_t>({1, 2, 3, 4, 5, 6})},
         {"epoch", array<int64_t>({0, 0, 1, 1, 1, 2})},
         {"epoch_detail", array<double>({1 / 3., 2 / 3., 1, 4 / 3., 5 / 3., 2})},
         {"is_new_epoch", array<int>({0, 0, 1, 0, 0, 1}).astype(Dtype::bool_)},
         {"observation", array<double>(reported)},
         {"fired", array<int>(fired).astype(Dtype::bool_)}});
  }
  void add_initializer(const std::string& id, const std::string& name, const Json& ctor, const Json& expect,
                       const Array& y = Array()) {
    Arrays arrays;
    if (y.is_defined()) arrays.emplace_back("y0", y);
    add({{"case", id},
         {"kind", "initializer_stats"},
         {"name", name},
         {"ctor", ctor},
         {"shape", {2, 2}},
         {"inputs", Json::array()},
         {"outputs", Json::array()},
         {"expect", expect}},
        arrays);
  }
};

TEST_CASE("golden_runner: optimizers and their hooks") {
  TrainingFolder golden;
  golden.add_step("position", "SGD", {{"*", {0.25}}}, 0.5f);
  golden.add_step("default", "SGD", Json::object(), 0.98f);
  golden.add_step("two_positions", "MomentumSGD", {{"*", {0.25, 0.5}}}, 0.5f);
  // The first step of RMSprop: lr g / sqrt((1 - alpha) g^2 + eps), or with eps beside the root.
  golden.add_step("eps_inside", "RMSprop", {{"lr", 1}, {"alpha", 0.75}, {"eps", 3}, {"eps_inside_sqrt", true}}, 0);
  golden.add_step("eps_outside", "RMSprop", {{"*", {1, 0.75, 3, false}}}, 0.5f);
  // That of Adam is alpha, whatever the gradient; weight decay takes its share of the parameter.
  golden.add_step("adam", "Adam", {{"*", {0.25}}, {"weight_decay_rate", 0.5}, {"eta", 0.5}}, 1 - 0.125f - 0.25f);
  golden.add_step("hook", "SGD", {{"lr", 0.25}}, 0.375f, one_hook("WeightDecay", {{"*", {0.5}}}));
  golden.add_step("lars", "SGD", {{"lr", 1}}, 1 - 0.5f,
                  one_hook("GradientLARS", {{"threshold", 0.5}, {"weight_decay", 0}, {"eps", 2}}));
  golden.add_step("no_noise", "SGD", {{"lr", 0.25}}, 0.5f, one_hook("GradientNoise", {{"eta", 0}}));
  golden.check_all_pass();
}

TEST_CASE("golden_runner: schedules and triggers") {
  TrainingFolder golden;
  golden.add_shift("position", "ExponentialShift", {{"*", {"lr", 0.5}}}, {1, 0.5, 0.25});
  golden.add_shift("target", "ExponentialShift", {{"*", {"lr", 0.5, 2, 0.75}}}, {2, 1, 0.75});
  golden.add_shift("init", "MultistepShift", {{"*", {"lr", 0.5, {1, 2}, 4}}}, {4, 2, 1, 1});
  golden.add_shift("none", "PolynomialShift", {{"attr", "lr"}, {"rate", 1}, {"max_count", 4}, {"init", nullptr}},
                   {1, 0.75, 0.5});
  // Its own trigger asks after each epoch: the means of three values.
  golden.add_trigger("best", "MinValueTrigger", {{"key", "main/loss"}}, "main/loss", {3, 3, 3, 0, 3, 3},
                     {0, 0, 1, 0, 0, 1});
  golden.add_trigger("interval", "MaxValueTrigger", {{"*", {"main/loss", {1, "iteration"}}}}, "main/loss",
                     {1, 2, 2, 3, 0, 4}, {1, 1, 0, 1, 0, 1});
  // As many iterations without a better value as its patience end a training.
  golden.add_trigger("patience", "EarlyStoppingTrigger", {{"check_trigger", {1, "iteration"}}, {"patients", 2}},
                     "main/loss", {1, 2, 2, 2, 2, 2}, {0, 0, 1, 1, 1, 1});
  golden.add_trigger("accuracy", "EarlyStoppingTrigger", {{"*", {{1, "iteration"}, "main/accuracy", 2}}},
                     "main/accuracy", {1, 2, 3, 4, 5, 6}, {0, 0, 0, 0, 0, 0});
  golden.add_trigger("longest", "EarlyStoppingTrigger", {{"mode", "max"}, {"max_trigger", {4, "iteration"}}},
                     "main/loss", {1, 2, 3, 4, 5, 6}, {0, 0, 0, 1, 0, 0});
  golden.check_all_pass();
}

TEST_CASE("golden_runner: initializers") {
  TrainingFolder golden;
  const Json exact = {{"kind", "exact"}};
  golden.add_initializer("position", "Constant", {{"*", {3}}}, exact, array<float>({3, 3, 3, 3}, {2, 2}));
  golden.add_initializer("dtype", "Identity", {{"scale", 2}, {"dtype", "float32"}}, exact,
                         array<float>({2, 0, 0, 2}, {2, 2}));
  golden.add_initializer("mode", "Orthogonal", {{"*", {2, nullptr, "basis"}}},
                         {{"kind", "orthogonal"}, {"gram_diag", 4}});
  // fan_in and fan_out are 2: a deviation of 3 sqrt(2 / 2).
  golden.add_initializer("fan", "HeNormal", {{"scale", 3}, {"fan_option", "fan_out"}},
                         {{"kind", "normal"}, {"mean", 0}, {"std", 3}});
  golden.check_all_pass();
}

TEST_CASE("golden_runner: arguments that they do not have fail and are named") {
  TrainingFolder golden;
  golden.add_step("optimizer", "MomentumSGD", {{"nesterov", true}}, 0);
  golden.add_step("hook", "SGD", Json::object(), 0, one_hook("Lasso", {{"rate", 1}, {"order", 2}}));
  golden.add_step("noise", "SGD", Json::object(), 0,
                  one_hook("GradientNoise", {{"eta", 1}, {"noise_func", {{"function", "exp"}}}}));
  golden.add_step("setup", "SGD", Json::object(), 0, {{"clip", 1}});
  golden.add_shift("shift", "StepShift", {{"attr", "lr"}, {"gamma", 0.5}, {"step", 1}, {"optimizer", "other"}}, {1});
  golden.add_trigger("trigger", "IntervalTrigger", {{"period", 1}, {"unit", "epoch"}, {"offset", 1}}, "x",
                     {1, 2, 3, 4, 5, 6}, {0, 0, 0, 0, 0, 0});
  golden.add_initializer("interpolation", "UpsamplingDeconvFilter", {{"interpolation", "cubic"}}, {{"kind", "exact"}});
  golden.add_initializer("rng", "Normal", {{"rng", 1}}, {{"kind", "normal"}});
  golden.check_failures({"optimizer: MomentumSGD has no argument nesterov (given as true)",
                         "hook: Lasso has no argument order (given as 2)",
                         "noise: GradientNoise: argument noise_func={\"function\":\"exp\"} has nothing here",
                         "setup: setup has clip, which the runner does not know",
                         "shift: StepShift: argument optimizer=\"other\" has nothing here",
                         "trigger: IntervalTrigger has no argument offset (given as 1)",
                         "interpolation: UpsamplingDeconvFilter: argument interpolation=\"cubic\" has nothing here",
                         "rng: Normal: argument rng=1 has nothing here"});
}

}  // namespace
}  // namespace kusari
