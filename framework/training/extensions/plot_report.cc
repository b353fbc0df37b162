#include "kusari/framework/training/extensions/plot_report.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/training/charts/gnuplot_chart.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {

PlotReport::PlotReport(std::vector<std::string> y_keys, std::string x_key, PlotReportOptions options)
    : y_keys_{std::move(y_keys)}, x_key_{std::move(x_key)}, options_{std::move(options)}, unseen_{y_keys_} {
  argument::not_empty("PlotReport", "filename", options_.filename, "name a file");
  if (x_key_ != "iteration" && x_key_ != "epoch") {
    throw ValueError("PlotReport: x_key is '" + x_key_ + "': it must be 'iteration' or 'epoch'");
  }
  if (!charts::is_marker(options_.marker)) {
    throw ValueError("PlotReport: marker is '" + options_.marker + "': it must be one of . o x + * s ^ v D, or empty");
  }
  for (const std::string& key : y_keys_) curves_.push_back({key});
}

bool PlotReport::available() {
  const char* path = std::getenv("PATH");
  const std::string folders = path == nullptr ? "" : path;
  for (size_t begin = 0; begin < folders.size();) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    if (::access((folders.substr(begin, end - begin) + "/gnuplot").c_str(), X_OK) == 0) return true;
    begin = end + 1;
  }
  return false;
}

void PlotReport::initialize(Trainer& trainer) { unseen_.begin(trainer); }

void PlotReport::finalize() { unseen_.warn_of_missing("PlotReport: nobody has reported "); }

void PlotReport::operator()(Trainer& trainer) {
  unseen_.add(trainer.observation());
  for (const std::string& key : y_keys_) {
    const ObservedValue* value = trainer.observation().find(key);
    if (value != nullptr && value->is_scalar()) summary_.add(key, *value);
  }
  if (!trainer.is_before_training() && !options_.trigger(trainer)) return;
  unseen_.end_row();
  unseen_.warn_of_misspelt("PlotReport: nobody reports ");
  const updaters::Updater& updater = trainer.updater();
  const double x = static_cast<double>(x_key_ == "epoch" ? updater.epoch() : updater.iteration());
  for (const auto& [key, mean] : summary_.compute_mean()) {
    for (size_t i = 0; i < y_keys_.size(); ++i) {
      if (y_keys_[i] == key) curves_[i].points.push_back({x, mean});
    }
  }
  summary_.clear();
  draw(trainer.out());
}

void PlotReport::draw(const std::string& directory) {
  charts::LineChart chart{.x_label = x_key_, .curves = curves_, .grid = options_.grid, .marker = options_.marker};
  if (!chart.has_data()) return;
  if (options_.postprocess) options_.postprocess(chart);
  const std::string picture = (std::filesystem::path(directory) / options_.filename).string();
  const std::string drawn = charts::draw(picture, {.charts = {chart}});
  if (drawn != picture && !std::exchange(warned_, true)) {
    log::warn("PlotReport: gnuplot is missing or failed: " + drawn + " is drawn instead of " + picture);
  }
}

void PlotReport::serialize(Serializer& serializer) {
  options_.trigger.serialize(*serializer.child("_trigger"));
  nlohmann::ordered_json data = nlohmann::ordered_json::object();
  for (const charts::Curve& curve : curves_) {
    nlohmann::ordered_json& points = data[curve.name] = nlohmann::ordered_json::array();
    for (const charts::Point& p : curve.points) points.push_back({p.x, p.y});
  }
  std::string text = data.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  const std::string entry = "_plot_" + options_.filename;
  serializer(entry, text);
  // Chainer forgets what was reported since the last point.
  const auto summary = serializer.child("_summary");
  if (summary->contains("_names")) summary_.serialize(*summary);
  if (serializer.is_writer()) return;
  data = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!data.is_object()) throw ValueError(serializer.place(entry) + "is not a JSON object");
  const auto coordinate = [](const auto& json) {
    return json.is_number() ? json.template get<double>() : std::nan("");
  };
  for (charts::Curve& curve : curves_) {
    curve.points.clear();
    if (!data.contains(curve.name)) continue;
    for (const auto& point : data[curve.name]) {
      if (point.is_array() && point.size() == 2) curve.points.push_back({coordinate(point[0]), coordinate(point[1])});
    }
  }
}

}  // namespace kusari::training::extensions
