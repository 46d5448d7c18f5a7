"""The style sheet that refines Qt's Fusion style: roundings, paddings, quiet lines."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

# Widgets choose a variant with the dynamic properties "kind" (buttons: primary, quiet, danger, link, inline) and
# "role" (labels: title, muted, small, error, warn, ok; frames: card, bar, note).
_SHEET = Template("""
QToolTip { color: $text; background: $raised; border: 1px solid $line; padding: 4px 6px; }
QLabel[role="muted"] { color: $muted; }
QLabel[role="small"] { color: $muted; }
QLabel[role="error"] { color: $error; }
QLabel[role="warn"] { color: $warn; }
QLabel[role="ok"] { color: $ok; }
QFrame[role="card"] { background: $raised; border: 1px solid $line; border-radius: 8px; }
QFrame[role="bar"] { background: $raised; border: none; border-top: 1px solid $line; }
QFrame[role="note"] { background: $selected; border: none; border-radius: 6px; }
QFrame[role="line"] { background: $line; border: none; }

QPushButton, QToolButton[kind="button"] {
    background: $raised; color: $text; border: 1px solid $line; border-radius: 6px;
    padding: 5px 12px; min-height: 20px;
}
QPushButton:hover, QToolButton[kind="button"]:hover { background: $hover; }
QPushButton:pressed, QToolButton[kind="button"]:pressed { background: $selected; }
QPushButton:focus, QToolButton:focus { border: 1px solid $accent; outline: none; }
QPushButton:disabled { color: $muted; background: $surface; }
QPushButton:checked { background: $selected; border-color: $accent; }
QPushButton:checked:focus { border: 2px solid $accent; padding: 4px 11px; }
QPushButton[kind="primary"] { background: $accent; color: $on_accent; border-color: $accent; font-weight: 600; }
QPushButton[kind="primary"]:hover { border-color: $text; }
QPushButton[kind="primary"]:focus { border: 2px solid $text; padding: 4px 11px; }
QPushButton[kind="primary"]:disabled { background: $sunken; color: $muted; border-color: $line; }
QPushButton[kind="danger"] { color: $error; }
QPushButton[kind="quiet"], QToolButton {
    background: transparent; border: 1px solid transparent; border-radius: 6px; padding: 5px 8px; color: $text;
}
QToolButton[kind="inline"] { padding: 0 4px; border-radius: 4px; }
QPushButton[kind="quiet"]:hover, QToolButton:hover { background: $hover; }
QPushButton[kind="quiet"]:pressed, QToolButton:pressed, QToolButton:checked { background: $selected; }
QPushButton[kind="link"] {
    background: transparent; border: 1px solid transparent; color: $accent; padding: 2px 4px; text-align: left;
}
QPushButton[kind="link"]:hover { text-decoration: underline; }
QPushButton[kind="quiet"]:focus, QPushButton[kind="link"]:focus { border-color: $accent; }
QPushButton::menu-indicator, QToolButton::menu-indicator { image: none; width: 0; }

QLineEdit, QPlainTextEdit, QTextEdit, QSpinBox, QComboBox, QDateEdit, QTimeEdit, QDateTimeEdit, QKeySequenceEdit {
    background: $raised; color: $text; border: 1px solid $line; border-radius: 6px; padding: 4px 8px;
    selection-background-color: $accent; selection-color: $on_accent;
}
QLineEdit, QSpinBox, QComboBox, QDateEdit, QTimeEdit, QDateTimeEdit { min-height: 22px; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QSpinBox:focus, QComboBox:focus, QDateEdit:focus,
QTimeEdit:focus, QDateTimeEdit:focus { border: 1px solid $accent; }
QLineEdit:disabled, QPlainTextEdit:disabled, QSpinBox:disabled, QComboBox:disabled {
    background: $surface; color: $muted;
}
QLineEdit[invalid="true"], QPlainTextEdit[invalid="true"], QComboBox[invalid="true"], QSpinBox[invalid="true"] {
    border: 1px solid $error;
}
QPlainTextEdit[kind="read"] { background: transparent; border: none; padding: 0; }
QPlainTextEdit[kind="read"]:focus { background: $hover; border: none; }
QComboBox::drop-down { border: none; width: 24px; }
QComboBox::down-arrow, QSpinBox::down-arrow, QDateTimeEdit::down-arrow, QDateEdit::down-arrow,
QTimeEdit::down-arrow { image: url("$arrow_down"); width: 12px; height: 12px; }
QSpinBox::up-arrow, QDateTimeEdit::up-arrow, QDateEdit::up-arrow, QTimeEdit::up-arrow {
    image: url("$arrow_up"); width: 10px; height: 10px;
}
QSpinBox::up-button, QSpinBox::down-button, QDateTimeEdit::up-button, QDateTimeEdit::down-button,
QDateEdit::up-button, QDateEdit::down-button, QTimeEdit::up-button, QTimeEdit::down-button {
    border: none; width: 20px; background: transparent;
}
QComboBox QAbstractItemView { background: $raised; border: 1px solid $line; padding: 4px; outline: none; }

QCheckBox, QRadioButton { spacing: 8px; }
QCheckBox::indicator, QRadioButton::indicator {
    width: 14px; height: 14px; border: 1px solid $muted; background: $raised;
}
QCheckBox::indicator { border-radius: 4px; }
QRadioButton::indicator { border-radius: 8px; }
QCheckBox::indicator:hover, QRadioButton::indicator:hover { border-color: $accent; }
QCheckBox::indicator:checked { background: $accent; border-color: $accent; image: url("$tick"); }
QRadioButton::indicator:checked { width: 6px; height: 6px; border: 5px solid $accent; background: $on_accent; }
QCheckBox::indicator:focus, QRadioButton::indicator:focus { border-color: $accent; }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { border-color: $line; background: $surface; }
QCheckBox:focus, QRadioButton:focus { color: $accent; }
QCheckBox:disabled, QRadioButton:disabled { color: $muted; }

QTableView, QTreeView, QListView {
    background: $raised; border: none; outline: none; gridline-color: transparent; color: $text;
    selection-background-color: $selected; selection-color: $text; alternate-background-color: $raised;
}
QTableView::item, QTreeView::item, QListView::item { border: none; padding: 0 8px; }
QTableView::item:hover, QListView::item:hover { background: $hover; }
QTableView::item:selected, QListView::item:selected, QTreeView::item:selected { background: $selected; color: $text; }
QHeaderView { background: $raised; border: none; }
QHeaderView::section {
    background: $raised; color: $muted; border: none; border-bottom: 1px solid $line;
    padding: 6px 8px; font-weight: 400;
}
QTableCornerButton::section { background: $raised; border: none; }

QMenu { background: $raised; color: $text; border: 1px solid $line; padding: 4px; }
QMenu::item { padding: 6px 24px 6px 12px; border-radius: 4px; }
QMenu::item:selected { background: $selected; }
QMenu::item:disabled { color: $muted; }
QMenu::icon { padding-left: 8px; }
QMenu::separator { height: 1px; background: $line; margin: 4px 8px; }

QScrollArea { background: transparent; border: none; }
QScrollBar:vertical { background: transparent; width: 12px; margin: 2px; }
QScrollBar:horizontal { background: transparent; height: 12px; margin: 2px; }
QScrollBar::handle { background: $line; border-radius: 4px; min-height: 32px; min-width: 32px; }
QScrollBar::handle:hover { background: $muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QAbstractScrollArea::corner { background: transparent; border: none; }
QSplitter::handle { background: $line; }
QStatusBar { background: $raised; border-top: 1px solid $line; }
QStatusBar::item { border: none; }
QProgressBar { background: $sunken; border: none; border-radius: 3px; max-height: 6px; min-height: 6px; }
QProgressBar::chunk { background: $running; border-radius: 3px; }
QTabBar::tab {
    background: transparent; color: $muted; padding: 8px 12px; border: none; border-bottom: 2px solid transparent;
}
QTabBar::tab:selected { color: $text; border-bottom: 2px solid $accent; }
QTabBar::tab:hover { color: $text; }
QTabBar::tab:focus { color: $accent; }
QTabWidget::pane { border: none; border-top: 1px solid $line; }
QDialog, QMainWindow { background: $surface; }
""")


def stylesheet(colours: Mapping[str, str], arrow_down: str, arrow_up: str, tick: str) -> str:
    """Return the sheet in a theme's colours; its pictures are files, as a sheet knows no others."""
    return _SHEET.substitute(colours, arrow_down=arrow_down, arrow_up=arrow_up, tick=tick)
