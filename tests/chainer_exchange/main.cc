// One side of an exchange of files with Chainer; the other is chainer_side.py. Makes a model, trains it a little, saves
// it and computes something with it (write), or loads it and computes the same (read).
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "kusari/kusari.h"
#include "kusari/tests/chainer_exchange/models.h"

namespace kusari::exchange {
namespace {

constexpr int kSteps = 3;  // of training before a file is written, and after where that is what is compared

/// The folder of one exchange.
class Folder {
 public:
  Folder(std::string path, bool writes)
      : path_{std::move(path)},
        writes_{writes},
        inputs_(path_ + "/inputs.npz"),
        results_(path_ + (writes ? "/written.npz" : "/read.npz")) {}

  bool writes() const { return writes_; }
  const std::string& path() const { return path_; }
  Array input(const std::string& key) const { return inputs_.array(key); }
  std::vector<Variable> columns(const std::string& key) const {
    const Array all = input(key);
    std::vector<Variable> result;
    for (int64_t i = 0; i < all.shape()[1]; ++i) result.emplace_back(all.slice(1, i, 1).reshape({-1}));
    return result;
  }
  void result(const std::string& key, const Array& value) { results_.add(key, value); }
  void results_of(Link& model) {
    for (const auto& [name, parameter] : model.namedparams()) result("after" + name, parameter->array());
  }
  void commit() { results_.commit(); }

  /// Saves the object, or loads it and saves what it is then, which should be the same file.
  template <class T>
  void exchange(const std::string& name, T& object) const {
    const std::string file = path_ + "/" + name;
    if (writes_) return serializers::save_npz(file + ".npz", object);
    serializers::load_npz(file + ".npz", object);
    serializers::save_npz(file + "_again.npz", object);
  }

 private:
  std::string path_;
  bool writes_;
  serializers::NpzReader inputs_;
  serializers::NpzWriter results_;
};

void train(Optimizer& optimizer, const std::function<Variable()>& loss) {
  for (int i = 0; i < kSteps; ++i) optimizer.update(loss);
}

/// What all models do: `loss` trains them before they are written.
template <class Model>
void exchange_model(Folder& folder, Model& model, const std::function<Variable()>& loss) {
  if (folder.writes()) {
    optimizers::SGD optimizer(0.1);
    optimizer.setup(model);
    train(optimizer, loss);
  }
  folder.exchange("model", model);
}

void mlp(Folder& folder) {
  auto model = L::classifier(Mlp());
  const Variable x = folder.input("x"), t = folder.input("t");
  exchange_model(folder, model, [&] { return model(x, t); });
  model(x, t);
  folder.result("y", model.y.array());
  folder.result("loss", model.loss.array());
  folder.result("accuracy", model.accuracy.array());
}

void cnn(Folder& folder) {
  Cnn model;
  const Variable x = folder.input("images");
  exchange_model(folder, model, [&] { return model.loss(x); });
  const auto testing = using_config(&Config::train, false);
  folder.result("y", model(x).array());
}

void tagger(Folder& folder) {
  Tagger model;
  const Variable ids = folder.input("ids"), word = folder.input("word");
  const std::vector<Variable> labels = folder.columns("labels");
  exchange_model(folder, model, [&] { return model.loss(ids, labels, word); });
  const Tagger::Scores scores = model(ids);
  for (size_t i = 0; i < scores.labels.size(); ++i) {
    folder.result("scores" + std::to_string(i), scores.labels[i].array());
  }
  folder.result("loss", model.crf(scores.labels, labels).array());
  folder.result("word", model.softmax(scores.last, word).array());
  const functions::CrfPath best = model.crf.argmax(scores.labels);
  folder.result("best", best.score.array());
  for (size_t i = 0; i < best.path.size(); ++i) folder.result("path" + std::to_string(i), best.path[i]);
}

template <class T>
std::unique_ptr<Optimizer> make() {
  return std::make_unique<T>();
}
const std::map<std::string, std::unique_ptr<Optimizer> (*)()> kOptimizers = {
    {"AMSBound", make<optimizers::AMSBound>},
    {"AMSGrad", make<optimizers::AMSGrad>},
    {"AdaBound", make<optimizers::AdaBound>},
    {"AdaDelta", make<optimizers::AdaDelta>},
    {"AdaGrad", make<optimizers::AdaGrad>},
    {"Adam", make<optimizers::Adam>},
    {"AdamW", make<optimizers::AdamW>},
    {"CorrectedMomentumSGD", make<optimizers::CorrectedMomentumSGD>},
    {"MSVAG", make<optimizers::MSVAG>},
    {"MomentumSGD", make<optimizers::MomentumSGD>},
    {"NesterovAG", make<optimizers::NesterovAG>},
    {"RMSprop", make<optimizers::RMSprop>},
    {"RMSpropGraves", make<optimizers::RMSpropGraves>},
    {"SGD", make<optimizers::SGD>},
    {"SMORMS3", make<optimizers::SMORMS3>},
};

void optimizer(Folder& folder, const std::string& name) {
  auto model = L::classifier(Mlp());
  const Variable x = folder.input("x"), t = folder.input("t");
  const auto loss = [&] { return model(x, t); };
  const std::unique_ptr<Optimizer> optimizer = kOptimizers.at(name)();
  optimizer->setup(model);
  if (folder.writes()) train(*optimizer, loss);
  folder.exchange("model", model);
  folder.exchange("optimizer", *optimizer);
  train(*optimizer, loss);
  folder.results_of(model);
}

/// Stops within the second epoch, whose order of examples is in the snapshot, and goes on to its end.
void trainer(Folder& folder) {
  namespace E = extensions;
  auto model = L::classifier(Mlp());
  optimizers::Adam optimizer;
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::WeightDecay(0.01));
  const datasets::TupleDataset data(folder.input("rows"), folder.input("classes"));
  iterators::SerialIterator iterator(data, 4), test_iterator(data, 4, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(iterator, optimizer);
  training::Trainer trainer(updater, {2, "epoch"}, folder.path());
  trainer.extend(E::Evaluator(test_iterator, model), {.trigger = {2, "iteration"}});
  trainer.extend(E::ExponentialShift("alpha", 0.9), {.trigger = {4, "iteration"}});
  E::LogReport log({.trigger = {2, "iteration"}, .filename = std::nullopt});
  trainer.extend(log);
  if (folder.writes()) {
    trainer.extend(E::snapshot({.filename = "trainer.npz"}), {.name = "snapshot", .trigger = {8, "iteration"}});
  } else {
    folder.exchange("trainer", trainer);
  }
  trainer.run();
  for (const char* key : {"main/loss", "main/accuracy", "validation/main/loss", "epoch", "iteration"}) {
    std::vector<double> column;
    for (const E::LogEntry& row : log.log()) column.push_back(row.at(key));
    folder.result(std::string("log/") + key, array<double>(column));
  }
  folder.result("alpha", array<double>({optimizer.alpha}));
  folder.results_of(model);
}

void run(const std::string& name, Folder& folder) {
  random::seed(1);
  const size_t colon = name.find(':');
  if (colon != std::string::npos) {
    optimizer(folder, name.substr(colon + 1));
  } else {
    const std::map<std::string, void (*)(Folder&)> models = {
        {"mlp", mlp}, {"cnn", cnn}, {"tagger", tagger}, {"trainer", trainer}};
    models.at(name)(folder);
  }
  folder.commit();
}

}  // namespace
}  // namespace kusari::exchange

int main(int argc, char** argv) {
  CLI::App parser("Kusari's side of an exchange of files with Chainer; see tools/check_chainer");
  std::string name, direction, path;
  parser.add_option("CASE", name, "mlp, cnn, tagger, trainer or optimizer:NAME")->required();
  parser.add_option("DIRECTION", direction)->check(CLI::IsMember({"write", "read"}))->required();
  parser.add_option("FOLDER", path, "has inputs.npz")->required();
  try {
    parser.parse(argc, argv);
    kusari::exchange::Folder folder(path, direction == "write");
    kusari::exchange::run(name, folder);
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "chainer_exchange: %s: %s\n", name.c_str(), error.what());
    return 1;
  }
}
