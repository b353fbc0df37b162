#include "kusari/framework/links/model_summary.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/link_walk.h"
#include "kusari/framework/links/parameter.h"

namespace kusari {
namespace {

using Row = ModelSummary::Row;

/// Multiply-adds of one call; 0 for functions that are bound by memory.
int64_t multiply_adds(const FunctionNode& function, const ArrayRefs& in, const Array& out) {
  const std::string_view name = function.name();
  const auto is_kind = [&](std::string_view kind) { return name.find(kind) == 0 && name.find("grad") == name.npos; };
  if (out.size() == 0) return 0;
  if (is_kind("convolution_") || name == "dilated_convolution_2d" || name == "depthwise_convolution_2d") {
    return out.size() * (in[1].size() / in[1].shape()[0]);  // of W (out, in / groups, ..)
  }
  if (is_kind("deconvolution_")) {
    return in[1].size() == 0 ? 0 : in[0].size() * (in[1].size() / in[1].shape()[0]);  // no channels: a bias alone
  }
  if (name == "linear") return out.size() * in[1].shape()[1];
  if (name == "matmul") {
    Attributes options;
    function.describe(options);
    const Shape& a = in[0].shape();
    return out.size() * (options.boolean("transa") && a.ndim() > 1 ? a[a.ndim() - 2] : a[a.ndim() - 1]);
  }
  if (name == "bilinear") return in[0].shape()[0] * in[2].size();
  if (name == "recurrent_layer") return in[0].shape()[0] * in[2].size();  // W for the state; that for x is a product
  if (name == "scaled_dot_product_attention") {
    const Shape& keys = in[1].shape();
    return (in[0].size() + out.size()) * keys[keys.ndim() - 2];
  }
  return 0;
}

/// A link, or a function that a link with children called itself, in the order of first calls.
struct Item {
  Row row;
  Link* link = nullptr;
  std::vector<Item*> below;
  bool has_child_links = false;
};

class Recorder final : public LinkHook, public FunctionHook {
 public:
  explicit Recorder(Link& model) { add(model, "", nullptr); }

  const char* name() const override { return "summary"; }

  void forward_preprocess(Link& link) override {
    Item* item = innermost();  // of a link that is none of the model's members
    if (const auto found = by_link_.find(&link.self()); found != by_link_.end()) list(*(item = found->second));
    ++item->row.calls;
    open_.push_back({item, {}});
  }
  void forward_postprocess(Link& /*link*/) override {
    if (open_.back().output) add_output(open_.back().item->row, *open_.back().output);
    open_.pop_back();
  }

  void forward_preprocess(const FunctionNode&, const ArrayRefs&) override {}
  void forward_postprocess(const FunctionNode& function, const ArrayRefs& in, const Arrays& out) override {
    if (out.empty() || !out[0].is_defined()) return;
    for (const Array& y : out) {
      if (y.is_defined() && !is_view_of(in, y)) summary_.output_bytes += y.nbytes();
    }
    last_ = out[0].shape();
    for (Call& call : open_) call.output = last_;
    Item& link = *innermost();
    Row& row = link.has_child_links ? row_of(link, std::string("F::") + function.name(), *last_) : link.row;
    const int64_t operations = multiply_adds(function, in, out[0]);
    row.operations += operations;
    summary_.operations += operations;
  }

  ModelSummary finish() {
    Row& model = items_.front()->row;
    if (model.calls == 0) {  // its operator() opens no LinkCall
      model.calls = 1;
      if (last_) add_output(model, *last_);
    }
    for (const auto& item : items_) {
      if (item->link == nullptr) continue;
      list(*item);
      detail::LinkWalk::members(*item->link, [&](const detail::LinkMember& member) {
        if (member.kind != detail::MemberKind::parameter) return;
        const Parameter& parameter = detail::LinkWalk::parameter(*item->link, member);
        if (!parameter.is_initialized()) return;
        item->row.parameters += parameter.array().size();
        summary_.parameters += parameter.array().size();
        summary_.parameter_bytes += parameter.array().nbytes();
      });
    }
    add_rows(*items_.front(), 0);
    return std::move(summary_);
  }

 private:
  struct Call {
    Item* item;
    std::optional<Shape> output;
  };

  Item& new_item(Row row, Link* link) {
    items_.push_back(std::make_unique<Item>(Item{.row = std::move(row), .link = link, .below = {}}));
    return *items_.back();
  }
  void add(Link& root, const std::string& path, Item* parent) {
    Link& link = root.self();
    Item& item = new_item({.path = path, .name = detail::class_name(link), .outputs = {}}, &link);
    by_link_.emplace(&link, &item);
    parents_.emplace(&item, parent);
    detail::LinkWalk::children(link, [&](const std::string& name, Link& child) {
      item.has_child_links = true;
      add(child, path + "/" + name, &item);
    });
  }

  Item* innermost() const { return open_.empty() ? items_.front().get() : open_.back().item; }

  /// Puts a link below its parent, and that below its own, where they are not yet.
  void list(Item& item) {
    Item* const parent = parents_.at(&item);
    if (parent == nullptr || !listed_.insert(&item).second) return;
    list(*parent);
    parent->below.push_back(&item);
  }
  Row& row_of(Item& link, const std::string& function, const Shape& output) {
    const auto is_same = [&](const Item* item) {
      return item->link == nullptr && item->row.name == function && item->row.outputs[0] == output;
    };
    auto found = std::find_if(link.below.begin(), link.below.end(), is_same);
    if (found == link.below.end()) {
      Item& item =
          new_item({.path = link.row.path, .name = function, .is_function = true, .outputs = {output}}, nullptr);
      found = link.below.insert(found, &item);
    }
    ++(*found)->row.calls;
    return (*found)->row;
  }
  static void add_output(Row& row, const Shape& output) {
    if (std::find(row.outputs.begin(), row.outputs.end(), output) == row.outputs.end()) row.outputs.push_back(output);
  }
  static bool is_view_of(const ArrayRefs& in, const Array& y) {
    for (size_t i = 0; i < in.size(); ++i) {
      if (in[i].is_defined() && &in[i].storage() == &y.storage()) return true;
    }
    return false;
  }
  void add_rows(const Item& item, int depth) {
    summary_.rows.push_back(item.row);
    summary_.rows.back().depth = depth;
    for (const Item* below : item.below) add_rows(*below, depth + 1);
  }

  std::vector<std::unique_ptr<Item>> items_;  // the model first, and links before those below
  std::map<const Link*, Item*> by_link_;
  std::map<const Item*, Item*> parents_;
  std::set<const Item*> listed_;
  std::vector<Call> open_;
  std::optional<Shape> last_;
  ModelSummary summary_;
};

/// Recurrent state as it was.
class KeptStates {
 public:
  explicit KeptStates(Link& model) {
    detail::LinkWalk::states(model, [&](Variable& state) { states_.emplace_back(&state, state); });
  }
  KeptStates(const KeptStates&) = delete;
  KeptStates& operator=(const KeptStates&) = delete;
  ~KeptStates() {
    for (auto& [state, value] : states_) *state = std::move(value);
  }

 private:
  std::vector<std::pair<Variable*, Variable>> states_;
};

std::string label(const Row& row) {
  std::string text(static_cast<size_t>(2 * row.depth), ' ');
  if (!row.is_function && !row.path.empty()) text += row.path.substr(row.path.rfind('/') + 1) + ": ";
  return text + row.name;
}

std::string outputs_text(const Row& row) {
  if (row.outputs.empty()) return "-";
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(row.outputs.size(), kShown); ++i) {
    text += (i == 0 ? "" : " ") + to_string(row.outputs[i]);
  }
  return row.outputs.size() > kShown ? text + " .." : text;
}

}  // namespace

std::string ModelSummary::text() const {
  constexpr size_t kColumns = 5;
  std::vector<std::array<std::string, kColumns>> table{
      {"link or function", "output", "parameters", "multiply-adds", "calls"}};
  const auto number = [](int64_t value) { return value == 0 ? std::string() : grouped_text(value); };
  for (const Row& row : rows) {
    table.push_back({label(row), outputs_text(row), number(row.parameters), number(row.operations), number(row.calls)});
  }
  std::array<size_t, kColumns> widths{};
  for (const auto& row : table) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string result;
  for (const auto& row : table) {
    for (size_t i = 0; i < kColumns; ++i) {
      const std::string fill(widths[i] - row[i].size(), ' ');
      result += (i == 0 ? "" : "  ") + (i < 2 ? row[i] + fill : fill + row[i]);
    }
    result += '\n';
  }
  const auto mebibytes = [](int64_t bytes) { return fixed_text(static_cast<double>(bytes) / (1 << 20), 2) + " MiB"; };
  return result + grouped_text(parameters) + " parameters (" + mebibytes(parameter_bytes) + "), " +
         grouped_text(operations) + " multiply-adds, results of " + mebibytes(output_bytes) + "\n";
}

ModelSummary detail::summarize(Link& model, const Callable<void()>& call) {
  const auto testing = using_config(&Config::train, false);
  const auto without_graph = no_backprop_mode();
  const KeptStates kept(model);
  Recorder recorder(model);
  {
    const ScopedLinkHook links(recorder);
    const ScopedFunctionHook functions(recorder);
    call();
  }
  return recorder.finish();
}

}  // namespace kusari
