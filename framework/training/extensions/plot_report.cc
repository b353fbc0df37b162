#include "kusari/framework/training/extensions/plot_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/training/extensions/gnuplot.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {
PlotReport::PlotReport(std::vector<std::string> y_keys, std::string x_key, PlotReportOptions options)
    : y_keys_{std::move(y_keys)}, x_key_{std::move(x_key)}, options_{std::move(options)}, curves_(y_keys_.size()) {
  if (x_key_ != "iteration" && x_key_ != "epoch") {
    throw ValueError("PlotReport: x_key is '" + x_key_ + "': it must be 'iteration' or 'epoch'");
  }
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

void PlotReport::operator()(Trainer& trainer) {
  for (const std::string& key : y_keys_) {
    const ObservedValue* value = trainer.observation().find(key);
    if (value != nullptr && value->is_scalar()) summary_.add(key, *value);
  }
  if (!trainer.is_before_training() && !options_.trigger(trainer)) return;
  const updaters::Updater& updater = trainer.updater();
  const double x = static_cast<double>(x_key_ == "epoch" ? updater.epoch() : updater.iteration());
  for (const auto& [key, mean] : summary_.compute_mean()) {
    for (size_t i = 0; i < y_keys_.size(); ++i) {
      if (y_keys_[i] == key) curves_[i].emplace_back(x, mean);
    }
  }
  summary_.clear();
  if (can_draw_) draw(trainer.out());
}

std::string PlotReport::script() const {
  std::string text = "set xlabel " + gnuplot_quoted(x_key_) + "\n" + (options_.grid ? "set grid\n" : "");
  std::string plot;
  for (size_t i = 0; i < curves_.size(); ++i) {
    std::string points;
    for (const auto& [x, y] : curves_[i]) {
      char line[80];
      std::snprintf(line, sizeof line, "%.17g %.17g\n", x, y);
      if (std::isfinite(y)) points += line;
    }
    if (points.empty()) continue;
    const std::string name = "$curve" + std::to_string(i);
    text += name + " << END\n" + points + "END\n";
    plot += (plot.empty() ? "plot " : ", ") + name + " using 1:2 with linespoints title " + gnuplot_quoted(y_keys_[i]);
  }
  return plot.empty() ? std::string() : text + plot + "\n";
}

void PlotReport::draw(const std::string& directory) {
  const std::string picture = (std::filesystem::path(directory) / options_.filename).string(), commands = script();
  if (commands.empty()) return;
  can_draw_ = draw_with_gnuplot(picture, 800, 600, commands);
  if (!can_draw_) log::warn("PlotReport: gnuplot is missing or failed: " + picture + " is not drawn");
}

void PlotReport::serialize(Serializer& serializer) {
  options_.trigger.serialize(*serializer.child("_trigger"));
  nlohmann::ordered_json data = nlohmann::ordered_json::object();
  for (size_t i = 0; i < y_keys_.size(); ++i) data[y_keys_[i]] = curves_[i];
  std::string text = data.dump();
  const std::string entry = "_plot_" + options_.filename;
  serializer(entry, text);
  // Chainer forgets what was reported since the last point.
  const auto summary = serializer.child("_summary");
  if (summary->contains("_names")) summary_.serialize(*summary);
  if (serializer.is_writer()) return;
  data = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!data.is_object()) throw ValueError("PlotReport::serialize: " + entry + " is not a JSON object");
  for (size_t i = 0; i < y_keys_.size(); ++i) {
    curves_[i].clear();
    if (!data.contains(y_keys_[i])) continue;
    for (const auto& point : data[y_keys_[i]]) {
      if (point.size() == 2 && point[0].is_number() && point[1].is_number()) {
        curves_[i].emplace_back(point[0].get<double>(), point[1].get<double>());
      }
    }
  }
}

}  // namespace kusari::training::extensions
