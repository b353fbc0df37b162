#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

std::string difference(const NodeWriter& w) { return w.make("Sub", {w.input(0), w.input(1)}); }

// The mean of all elements; no axes means all.
void write_mean(const NodeWriter& w, const std::string& losses) {
  w.node("ReduceMean", {losses}, {w.output()}, {{"keepdims", int64_t{0}}});
}

std::string sum_of_all(const NodeWriter& w, const std::string& x) {
  return w.make("ReduceSum", {x}, {{"keepdims", int64_t{0}}});
}

void write_softmax_cross_entropy(const NodeWriter& w) {
  const Attributes& options = w.options();
  const bool has_weight = options.has("class_weight"), is_mean = options.text("reduce") == "mean";
  const bool is_normalized = options.boolean("normalize");
  const Dtype label_dtype = w.input_dtype(1), dtype = w.input_dtype(0);
  const bool is_narrow = label_dtype != Dtype::int32 && label_dtype != Dtype::int64;
  const std::string labels = is_narrow ? w.cast(w.input(1), label_dtype, Dtype::int64) : w.input(1);
  NodeWriter::Names inputs{w.input(0), labels};
  if (has_weight) inputs.push_back(w.value(options.array("class_weight")));
  const int64_t ignored = options.integer("ignore_label");
  const bool is_same = !is_mean || (is_normalized && !has_weight);  // ONNX divides by the sum of the weights
  Attributes attributes{{"ignore_index", ignored}};
  attributes.set("reduction", is_mean && is_same ? "mean" : "none");
  if (is_same) return w.node("SoftmaxCrossEntropyLoss", inputs, {w.output()}, attributes);
  const std::string sum = sum_of_all(w, w.make("SoftmaxCrossEntropyLoss", inputs, attributes));
  std::string count;
  if (is_normalized) {
    const std::string label = w.constant(full({}, ignored, is_narrow ? Dtype::int64 : label_dtype));
    const std::string counts = w.make("Not", {w.make("Equal", {labels, label})});
    count = w.make("Max", {sum_of_all(w, w.cast(counts, Dtype::bool_, dtype)), w.scalar(1, dtype)});
  } else {
    if (w.is_dynamic_input(1, 0)) w.refuse_dynamic("without normalize, it divides by the batch's size");
    count = w.scalar(static_cast<double>(w.input_size(1, 0)), dtype);
  }
  w.node("Div", {sum, count}, {w.output()});
}

void write_sigmoid_cross_entropy(const NodeWriter& w) {
  const Attributes& options = w.options();
  const Dtype dtype = w.input_dtype(0), label_dtype = w.input_dtype(1);
  const std::string t = w.cast(w.input(1), label_dtype, dtype);
  const std::string terms = w.make("Sub", {w.make("Softplus", {w.input(0)}), w.make("Mul", {t, w.input(0)})});
  const std::string none = w.make("Equal", {t, w.scalar(-1, dtype)});
  const std::string counts = w.cast(w.make("Not", {none}), Dtype::bool_, dtype);
  const std::string losses = w.make("Mul", {terms, counts});
  if (options.text("reduce") == "no") return w.node("Identity", {losses}, {w.output()});
  std::string count;
  if (options.boolean("normalize")) {
    count = w.make("Max", {sum_of_all(w, counts), w.scalar(1, dtype)});
  } else {
    const bool is_scalar = w.input_ndim(1) == 0;
    if (!is_scalar && w.is_dynamic_input(1, 0)) {
      w.refuse_dynamic("without normalize, it divides by the batch's size");
    }
    count = w.scalar(is_scalar ? 1 : static_cast<double>(w.input_size(1, 0)), dtype);
  }
  w.node("Div", {sum_of_all(w, losses), count}, {w.output()});
}

void write_contrastive(const NodeWriter& w) {
  const Attributes& options = w.options();
  const Dtype dtype = w.input_dtype(0);
  const std::string d = difference(w);
  const std::string squared = w.make("ReduceSum", {w.make("Mul", {d, d}), w.integers({1})}, {{"keepdims", int64_t{0}}});
  const std::string gap =
      w.make("Relu", {w.make("Sub", {w.scalar(options.real("margin"), dtype), w.make("Sqrt", {squared})})});
  const std::string alike = w.cast(w.input(2), w.input_dtype(2), dtype);
  const std::string other = w.make("Sub", {w.scalar(1, dtype), alike});
  const std::string both =
      w.make("Add", {w.make("Mul", {alike, squared}), w.make("Mul", {other, w.make("Mul", {gap, gap})})});
  const std::string loss = w.make("Mul", {both, w.scalar(0.5, dtype)});
  const std::string& reduce = options.text("reduce");
  if (reduce == "no") return w.node("Identity", {loss}, {w.output()});
  w.node(reduce == "mean" ? "ReduceMean" : "ReduceSum", {loss}, {w.output()}, {{"keepdims", int64_t{0}}});
}

void write_accuracy(const NodeWriter& w) {
  if (w.options().has("ignore_label")) w.refuse("with an ignore_label it has no ONNX operator");
  const std::string best = w.make("ArgMax", {w.input(0)}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
  std::string labels = w.cast(w.input(1), w.input_dtype(1), Dtype::int64);
  const std::string predicted = w.input_ndim(0) > 2 ? w.make("Reshape", {best, w.make("Shape", {labels})}) : best;
  const std::string hits = w.cast(w.make("Equal", {predicted, labels}), Dtype::bool_, w.output_dtype());
  write_mean(w, hits);
}

}  // namespace

void add_loss_converters(ConverterTable& table) {
  table["softmax_cross_entropy"] = write_softmax_cross_entropy;
  table["sigmoid_cross_entropy"] = write_sigmoid_cross_entropy;
  table["contrastive"] = write_contrastive;
  table["accuracy"] = write_accuracy;
  table["squared_error"] = [](const NodeWriter& w) {
    const std::string d = difference(w);
    w.node("Mul", {d, d}, {w.output()});
  };
  table["absolute_error"] = [](const NodeWriter& w) { w.node("Abs", {difference(w)}, {w.output()}); };
  table["mean_squared_error"] = [](const NodeWriter& w) {
    const std::string d = difference(w);
    write_mean(w, w.make("Mul", {d, d}));
  };
  table["mean_absolute_error"] = [](const NodeWriter& w) { write_mean(w, w.make("Abs", {difference(w)})); };
}

}  // namespace kusari::onnx::exporting
