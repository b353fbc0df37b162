#pragma once

// What compare_precision writes: a Markdown table for each model, all numbers as JSON, and a picture.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <kusari/kusari.h>
#include <nlohmann/json.hpp>

// One training.
struct Run {
  std::string model, mode;
  int64_t seed;
  std::vector<double> seconds;     // of each epoch, without the evaluation
  std::vector<double> accuracies;  // on the test images, after each epoch
  double peak_mib;                 // of the memory pool, beyond what it held before
};

// The trainings of a model in one mode.
struct Row {
  std::string model, mode;
  double seconds, accuracy, peak_mib;  // median of the epochs; mean of the seeds after the last epoch; highest
};

inline std::vector<Row> summarize(const std::vector<Run>& runs) {
  std::vector<Row> rows;
  for (const Run& run : runs) {
    const auto same = [&](const auto& other) { return other.model == run.model && other.mode == run.mode; };
    if (std::any_of(rows.begin(), rows.end(), same)) continue;
    std::vector<double> seconds;
    double accuracy = 0, peak = 0, count = 0;
    for (const Run& other : runs) {
      if (!same(other)) continue;
      seconds.insert(seconds.end(), other.seconds.begin(), other.seconds.end());
      accuracy += other.accuracies.back();
      peak = std::max(peak, other.peak_mib);
      ++count;
    }
    std::sort(seconds.begin(), seconds.end());
    rows.push_back({run.model, run.mode, seconds[seconds.size() / 2], accuracy / count, peak});
  }
  return rows;
}

// Of a row against float32; NaN when that did not run.
inline double speed_up(const std::vector<Row>& rows, const Row& row) {
  for (const Row& other : rows) {
    if (other.model == row.model && other.mode == "float32") return other.seconds / row.seconds;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

inline std::string markdown(const std::vector<Row>& rows) {
  std::string text;
  char line[200];
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (i == 0 || rows[i - 1].model != row.model) {
      text +=
          (i == 0 ? "" : "\n") + ("### " + row.model) +
          "\n\n| mode | s/epoch | speed-up | test accuracy, % | peak memory, MiB |\n| --- | --- | --- | --- | --- |\n";
    }
    char ratio[32] = "";
    if (const double times = speed_up(rows, row); times > 0) std::snprintf(ratio, sizeof ratio, "%.2f", times);
    std::snprintf(line, sizeof line, "| %s | %.2f | %s | %.2f | %.1f |\n", row.mode.c_str(), row.seconds, ratio,
                  100 * row.accuracy, row.peak_mib);
    text += line;
  }
  return text;
}

inline std::string json(const std::vector<Run>& runs) {
  auto list = nlohmann::ordered_json::array();
  for (const Run& run : runs) {
    list.push_back({{"model", run.model},
                    {"mode", run.mode},
                    {"seed", run.seed},
                    {"seconds", run.seconds},
                    {"accuracies", run.accuracies},
                    {"peak_mib", run.peak_mib}});
  }
  return list.dump(2) + "\n";
}

// Speed-up and accuracy of the modes, a group of bars for each model. False when gnuplot cannot draw it.
inline bool draw(const std::vector<Row>& rows, const std::string& picture) {
  std::vector<std::string> modes;
  std::string data, plots[2];
  for (const Row& row : rows) {
    if (std::find(modes.begin(), modes.end(), row.mode) == modes.end()) modes.push_back(row.mode);
  }
  for (size_t m = 0; m < modes.size(); ++m) {
    data += "$mode" + std::to_string(m) + " << END\n";
    for (const Row& row : rows) {
      if (row.mode != modes[m]) continue;
      data += row.model + " " + std::to_string(speed_up(rows, row)) + " " + std::to_string(100 * row.accuracy) + "\n";
    }
    data += "END\n";
    for (int panel = 0; panel < 2; ++panel) {
      plots[panel] += (m == 0 ? "plot $mode" : ", $mode") + std::to_string(m) + " using " + std::to_string(panel + 2) +
                      ":xtic(1) title '" + modes[m] + "'";
    }
  }
  std::string quoted;
  for (const char c : picture) quoted += c == '\'' ? "''" : std::string(1, c);
  std::FILE* gnuplot = kusari::extensions::PlotReport::available() ? ::popen("gnuplot 2> /dev/null", "w") : nullptr;
  if (gnuplot == nullptr) return false;
  const bool has_reference = modes.front() == "float32";
  std::fprintf(gnuplot,
               "set terminal png noenhanced size 1000,800\nset output '%s'\n%s"
               "set style data histogram\nset style fill solid 0.8\nset grid ytics\nset key outside\n"
               "set multiplot layout %d,1\n",
               quoted.c_str(), data.c_str(), has_reference ? 2 : 1);
  if (has_reference) {
    std::fprintf(gnuplot, "set ylabel 'speed-up against float32'\nset yrange [0:*]\n%s\n", plots[0].c_str());
  }
  std::fprintf(gnuplot, "set ylabel 'test accuracy, %%'\nset yrange [*:*]\n%s\nunset multiplot\n", plots[1].c_str());
  return ::pclose(gnuplot) == 0;
}

// Writes compare_precision.md, .json and .png.
inline void write_report(const std::vector<Run>& runs, const std::string& folder) {
  const std::vector<Row> rows = summarize(runs);
  const std::filesystem::path out = folder;
  std::filesystem::create_directories(out);
  std::ofstream(out / "compare_precision.md") << markdown(rows);
  std::ofstream(out / "compare_precision.json") << json(runs);
  const std::string picture = (out / "compare_precision.png").string();
  if (!draw(rows, picture)) std::printf("gnuplot is missing or failed: %s is not drawn\n", picture.c_str());
}
