#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/links/model/googlenet.h"
#include "kusari/framework/links/model/resnet.h"
#include "kusari/framework/links/model/vgg.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/golden_runner/compare.h"
#include "kusari/tests/golden_runner/links.h"
#include "kusari/tests/golden_runner/models.h"
#include "kusari/tests/golden_runner/optimizers.h"
#include "kusari/tests/golden_runner/runners.h"

namespace kusari::golden {
namespace {

/// The models of the cases, called with x0, ... and giving y0, ...
LinkUnderTest make_model(const std::string& name) {
  if (name == "mlp") {
    return link_of_x(Mlp());
  }
  if (name == "nested") {
    return link_of_x(Nested());
  }
  if (name == "cnn_bn") {
    return link_of_x(CnnBn());
  }
  if (name == "uninitialized") {
    return link_of_x(L::Linear(kInfer, 3));
  }
  if (name == "lstm_chain") {
    return link_under_test(LstmChain(), "forward(*xs)", [](LstmChain& link, Args& args) {
      Variables ys;
      for (const Variable& x : args.more_vars()) ys.push_back(link(x));
      return ys;
    });
  }
  if (name == "n_step") {
    return link_under_test(L::NStepLSTM(2, 3, 2, 0), "forward(*xs)",
                           [](L::NStepLSTM& link, Args& args) { return link({}, {}, args.more_vars()).ys; });
  }
  throw Unsupported("model " + name);
}

/// "key dtype shape" of each entry, sorted.
std::vector<std::string> describe(const serializers::NpzDictionary& dictionary) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : dictionary) {
    const std::string dtype = value.is_text ? "text" : value.array.is_defined() ? name(value.array.dtype()) : "None";
    lines.push_back(key + " " + dtype + " " + (value.array.is_defined() ? to_string(value.array.shape()) : "()"));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

serializers::NpzDictionary read(const std::string& path) {
  const serializers::NpzReader npz(path);
  serializers::NpzDictionary dictionary;
  for (const std::string& key : npz.keys()) dictionary.emplace_back(key, npz.value(key));
  return dictionary;
}

void compare_keys(const std::vector<std::string>& got, const std::vector<std::string>& expected) {
  if (got == expected) return;
  std::string text = "saved entries differ:";
  for (const std::string& line : expected) {
    if (std::find(got.begin(), got.end(), line) == got.end()) text += " lacks '" + line + "'";
  }
  for (const std::string& line : got) {
    if (std::find(expected.begin(), expected.end(), line) == expected.end()) text += " has '" + line + "'";
  }
  throw Mismatch(text);
}

/// The same of the manifest's list of entries.
std::vector<std::string> describe(const Json& keys) {
  static const std::map<std::string, std::string> names = {{"<f2", "float16"}, {"<f4", "float32"}, {"<f8", "float64"},
                                                           {"<i4", "int32"},   {"<i8", "int64"},   {"|b1", "bool"},
                                                           {"|O", "None"}};
  std::vector<std::string> lines;
  for (const Json& key : keys) {
    const auto known = names.find(key.at("dtype").get<std::string>());
    const auto sizes = key.at("shape").get<std::vector<int64_t>>();
    lines.push_back(key.at("key").get<std::string>() + " " + (known != names.end() ? known->second : "text") + " " +
                    to_string(Shape(sizes.begin(), sizes.end())));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// The reader's view of the snapshot against the manifest: dtypes, shapes,
// numbers.
void check_entries(const Case& c, const serializers::NpzDictionary& read) {
  const std::map<std::string, serializers::NpzValue> values(read.begin(), read.end());
  for (const Json& key : c.json().at("keys")) {
    const std::string name = key.at("key");
    if (!key.contains("value") || key.at("value").is_null() || !values.contains(name)) continue;
    const Json& value = key.at("value");
    const serializers::NpzValue& got = values.at(name);
    if (value.is_string()) {
      if (got.text != value.get<std::string>())
        throw Mismatch(name + ": expected '" + value.dump() + "', got '" + got.text + "'");
    } else if (value.is_number() || value.is_boolean()) {
      const double number = value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>();
      compare(name, got.array.item<double>(), number, {0, 0});
    }
  }
  compare_keys(describe(read), describe(c.json().at("keys")));
}

/// A file name that is gone at the end.
struct ScratchFile {
  std::string path =
      (std::filesystem::temp_directory_path() / ("kusari_golden_" + std::to_string(::getpid()) + ".npz")).string();
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

void run_model(const Case& c, const std::string& snapshot) {
  const LinkUnderTest model = make_model(c.name());
  model.link->to(c.device());
  serializers::load_npz(snapshot, *model.link);
  const auto train = using_config(&Config::train, c.json().value("train", false));
  const auto check_outputs = [&](const LinkUnderTest& m) {
    Inputs inputs;
    Json arguments;
    for (const std::string& name : c.names("inputs")) {
      inputs[name] = Variable(c.array(name), false);
      arguments["*"].push_back(name);
    }
    if (inputs.empty()) return;
    Args args(m.call.signature, arguments, Json::object(), inputs);
    const Variables y = m.call.call(args);
    for (size_t i = 0; i < y.size(); ++i) {
      const std::string name = "y" + std::to_string(i);
      compare(name, y[i].array(), c.array(name), c.tolerance(name));
    }
  };
  check_outputs(model);

  // What is saved here has Chainer's entries, and comes back the same.
  const ScratchFile file;
  serializers::save_npz(file.path, *model.link, {.compression = c.json().value("compression", true)});
  check_entries(c, read(file.path));
  const LinkUnderTest again = make_model(c.name());
  again.link->to(c.device());
  serializers::load_npz(file.path, *again.link);
  check_outputs(again);
}

void run_optimizer_snapshot(const Case& c, const std::string& snapshot) {
  const auto optimizer = make_optimizer(c.json().at("optimizer"), c.json().at("ctor"));
  CaseParameters target(c, "param/");
  optimizer->setup(target);
  const bool strict = c.json().at("strict_load");
  serializers::load_npz(snapshot, *optimizer, {.strict = strict});
  for (const Json& key : c.json().at("keys")) {
    const std::string name = key.at("key");
    if (name == "t") compare("t", static_cast<double>(optimizer->t()), key.at("value"), {0, 0});
    if (name == "epoch") compare("epoch", static_cast<double>(optimizer->epoch()), key.at("value"), {0, 0});
  }
  const int64_t steps = c.array("grad/a").shape(0);
  for (int64_t i = 0; i < steps; ++i) {
    for (const std::string param : {"a", "b", "c"}) {
      target[param].set_grad(c.array("grad/" + param).at(i).copy());
    }
    optimizer->update();
  }
  for (const std::string& output : c.names("outputs")) {
    const std::string param = output.substr(output.find('/') + 1);
    compare(output, target[param].array(), c.array(output), c.tolerance(output));
  }
  // Chainer can load what is saved here: all of its keys are there.
  serializers::DictionarySerializer saved;
  optimizer->serialize(saved);
  std::set<std::string> keys;
  for (const auto& [key, value] : saved.dictionary()) keys.insert(key);
  for (const Json& key : c.json().at("keys")) {
    if (!keys.contains(key.at("key").get<std::string>()))
      throw Mismatch("the saved optimizer lacks " + key.at("key").dump());
  }
}

/// The models of Chainer's links.model.vision, of which only the entries are known.
std::unique_ptr<Link> make_vision_model(const std::string& name) {
  if (name == "GoogLeNet") return std::make_unique<L::GoogLeNet>(L::GoogLeNetOptions{.initial_w = 0});
  if (name == "ResNet50Layers") return std::make_unique<L::ResNet50Layers>(L::ResNetLayersOptions{.initial_w = 0});
  if (name == "ResNet101Layers") return std::make_unique<L::ResNet101Layers>(L::ResNetLayersOptions{.initial_w = 0});
  if (name == "ResNet152Layers") return std::make_unique<L::ResNet152Layers>(L::ResNetLayersOptions{.initial_w = 0});
  if (name == "VGG16Layers") return std::make_unique<L::VGG16Layers>(L::VGGLayersOptions{.initial_w = 0});
  if (name == "VGG19Layers") return std::make_unique<L::VGG19Layers>(L::VGGLayersOptions{.initial_w = 0});
  throw Unsupported("model " + name);
}

void run_vision(const Case& c) {
  const std::unique_ptr<Link> model = make_vision_model(c.id().substr(c.id().rfind('/') + 1));
  serializers::DictionarySerializer saved;
  model->serialize(saved);
  std::ifstream file(c.folder() / c.json().at("key_file").get<std::string>());
  compare_keys(describe(saved.dictionary()), describe(Json::parse(file)));
}

}  // namespace

void run_serializer(const Case& c) {
  if (c.name() == "vision") return run_vision(c);
  const Json& snapshot = c.json().at("snapshot");
  if (snapshot.is_null()) throw Unsupported("model " + c.name());
  const std::string path = c.folder() / snapshot.get<std::string>();
  check_entries(c, read(path));
  if (c.name() == "optimizer") return run_optimizer_snapshot(c, path);
  if (c.name() == "trainer") return run_trainer(c, path);
  run_model(c, path);
}

}  // namespace kusari::golden
