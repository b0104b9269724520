"""Which test proves the right value for every known defect of logs and of public code on sessions, labels and pools.

`LOGS` has a row for every log format that users really have, `THREADS` one for every public thread or file with a
fault that concerns logs, sessions, labels, pools or their evaluation. Names are `file::test` below `tests/`.
What a declared mapping cannot say, and how it is refused, stands in `NOT_DECLARABLE`.
"""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

LOGS = {
    "taobao: stamps from 1902 to 2037, short and negative": [
        "commerce/test_sources_formats.py::test_taobao_stamps_from_1902_to_2037"
    ],
    "taobao: repeats, one category level, no neighbours on one item": [
        "commerce/test_sources_formats.py::test_tianchi_repeats_are_kept_and_taobao_repeats_are_not",
        "commerce/test_sources_real.py::test_taobao",
        "commerce/test_trajectories.py::test_taobao",
        "commerce/test_pools.py::test_a_log_without_level_one_asks_for_seen_categories_only",
    ],
    "taobao: sorted by user as text": [
        "commerce/test_defects_of_logs.py::test_times_and_ids_that_would_sort_wrong_as_text"
    ],
    "tianchi mobile: hours only, real repeats, empty geohash": [
        "commerce/test_sources_real.py::test_tianchi_mobile",
        "commerce/test_events.py::test_hours_and_days_without_minutes",
        "commerce/test_sources_formats.py::test_tianchi_repeats_are_kept_and_taobao_repeats_are_not",
    ],
    "rees46 multi-category: dotted codes, empty codes, 64-bit ids, a cut line": [
        "commerce/test_sources_dirt.py::test_category_codes",
        "commerce/test_sources_dirt.py::test_ids_are_text_to_the_last_digit",
        "commerce/test_sources_real.py::test_rees46_multicategory_with_its_cut_last_line",
    ],
    "rees46: a session of two users, sessions that interleave": [
        "commerce/test_defects_of_logs.py::test_sessions_of_the_log_never_cut_or_join_visits"
    ],
    "rees46 electronics: repeats, unsorted rows, offsets": [
        "commerce/test_sources_real.py::test_rees46_repeats_are_dropped_and_counted",
        "commerce/test_sources_real.py::test_rees46_long_users_without_session_and_with_offset",
    ],
    "rees46 cosmetics: removals, negative prices": [
        "commerce/test_sources_dirt.py::test_cosmetics_removals_are_cancels",
        "commerce/test_sources_dirt.py::test_prices_are_exact_and_may_be_negative",
    ],
    "retailrocket: ms, unsorted, repeats, cart and sale 1 ms apart": [
        "commerce/test_defects_of_logs.py::test_retailrocket_orders_by_the_millisecond_and_drops_repeats"
    ],
    "retailrocket: the category changes over time": [
        "commerce/test_defects_of_logs.py::test_a_category_joined_as_of_the_event_stays_with_its_visit",
        "commerce/test_defects_of_logs.py::test_a_history_of_properties_is_no_lookup_table",
    ],
    "otto: nested, ms, whole weeks as one session": ["commerce/test_sources_real.py::test_otto"],
    "otto: begins with an order, orders at one instant, empty sessions": [
        "commerce/test_defects_of_logs.py::test_otto_sessions_may_begin_with_an_order_and_orders_share_an_instant",
        "commerce/test_sources_formats.py::test_otto_sessions_without_events",
    ],
    "yoochoose: no users, no header, copies shifted by two hours": [
        "commerce/test_defects_of_logs.py::test_yoochoose_times_are_utc_to_the_millisecond",
        "commerce/test_defects_of_logs.py::test_yoochoose_buys_are_no_clicks",
    ],
    "amazon reviews: negative times, book ids, whole seconds": [
        "commerce/test_defects_of_logs.py::test_amazon_times_before_1970_and_book_ids",
        "commerce/test_sources_real.py::test_amazon_reviews",
    ],
    "amazon reviews: metadata by parent_asin, one file a domain": [
        "commerce/test_sources_formats.py::test_amazon_metadata_gives_domain_and_category"
    ],
    "amazon reviews: batches close by days": [
        "commerce/test_batches.py::test_120_days_are_inclusive_and_read_at_the_next_visits_start"
    ],
    "alibaba: a category for an item, a header with a space": [
        "commerce/test_defects_of_logs.py::test_alibaba_behaviour_with_the_category_for_an_item"
    ],
    "ga4: µs, days twice, items of one event, (not set)": [
        "commerce/test_sources_formats.py::test_a_mapping_for_anything_else",
        "commerce/test_defects_of_logs.py::test_ga4_days_that_come_twice_and_events_without_items",
    ],
    "snowplow: derived time, sent twice, category paths": [
        "commerce/test_defects_of_logs.py::test_snowplow_category_paths_and_events_sent_twice"
    ],
    "segment: repeats, baskets, orders of many products": [
        "commerce/test_defects_of_logs.py::test_segment_product_events_and_orders_that_need_unfolding",
        "commerce/test_defects_of_logs.py::test_an_order_unfolded_to_the_top_is_read",
    ],
    "instacart: no absolute time": [
        "commerce/test_sources_formats.py::test_instacart_as_published",
        "commerce/test_sources_real.py::test_instacart",
    ],
    "uci: C invoices, NA customers, negative quantities, the semicolon copy": [
        "commerce/test_sources_formats.py::test_uci_cancellations_and_the_semicolon_copy",
        "commerce/test_sources_real.py::test_uci_online_retail",
    ],
    "uci: Latin-1": ["commerce/test_sources_dirt.py::test_latin_1_needs_its_declaration"],
    "complete journey: quantities of zero, one stamp a basket, no zone": [
        "commerce/test_sources_real.py::test_complete_journey_sample",
        "commerce/test_sources_real.py::test_complete_journey_whole",
        "commerce/test_trajectories.py::test_complete_journey",
    ],
    "reader rule: units and zones": [
        "commerce/test_events.py::test_units",
        "commerce/test_events.py::test_clock_changes",
        "commerce/test_mapping.py::test_a_wrong_mapping_names_file_and_field",
    ],
    "reader rule: leap seconds and days that do not exist": [
        "commerce/test_defects_of_logs.py::test_a_leap_second_and_a_day_that_does_not_exist"
    ],
    "reader rule: resolution": ["commerce/test_events.py::test_resolution_is_measured"],
    "reader rule: total order": [
        "commerce/test_events.py::test_total_order_and_bucket",
        "commerce/test_events.py::test_the_quick_sort_is_the_full_sort",
    ],
    "reader rule: unknown actions, wrong field counts": [
        "commerce/test_sources_dirt.py::test_garbage_lines_are_counted_with_their_line"
    ],
}

NOT_DECLARABLE = {
    "a join as of the event": [
        "commerce/test_defects_of_logs.py::test_an_as_of_join_cannot_be_declared",
        "commerce/test_defects_of_logs.py::test_a_history_of_properties_is_no_lookup_table",
    ],
    "an item made of two columns": [
        "commerce/test_defects_of_logs.py::test_a_log_without_an_item_is_refused_and_two_columns_make_no_item"
    ],
    "a parameter found by its key in a list": [
        "commerce/test_defects_of_logs.py::test_ga4_parameters_by_name_cannot_be_reached"
    ],
    "files of two layouts without header": ["commerce/test_defects_of_logs.py::test_yoochoose_buys_are_no_clicks"],
    "a list below the top of a row": [
        "commerce/test_defects_of_logs.py::test_segment_product_events_and_orders_that_need_unfolding"
    ],
}

THREADS = {
    1: [
        "commerce/test_pools.py::test_order_and_choice_differ_between_users_transitions_and_seeds",
        "trailbench/test_proving.py::test_verify_names_a_file_with_other_bytes",
    ],
    2: [
        "memory/test_plugin_wall.py::test_a_hostile_plugin_behind_the_wall_finds_nothing",
        "memory/test_memory_audit.py::test_no_future_reaches_a_method_of_ours",
    ],
    3: ["commerce/test_familiarity.py::test_visits_add_up_over_batches_but_not_beyond_t"],
    4: [
        "commerce/test_domains.py::test_a_quarter_is_not_touched_by_what_ended_in_it_or_later",
        "commerce/test_popularity.py::test_known_counts_on_the_border",
    ],
    5: [
        "commerce/test_trajectories.py::test_many_events_of_one_user_are_sorted",
        "commerce/test_domains.py::test_a_visit_on_the_start_of_a_quarter_counts_from_the_next",
    ],
    6: [
        "commerce/test_pools.py::test_no_positive_of_the_transition_is_a_distractor",
        "commerce/test_pools.py::test_a_visited_distractor_is_said_to_be_seen",
    ],
    7: ["commerce/test_pools.py::test_no_positive_of_the_transition_is_a_distractor"],
    8: ["commerce/test_pool_rules.py::test_a_distractor_that_is_a_positive_is_caught"],
    9: ["commerce/test_perturbation.py::test_a_planted_leak_is_caught"],
    10: [
        "commerce/test_funnel.py::test_every_step_of_a_release_adds_up",
        "commerce/test_batches.py::test_cohort_needs_fifty_valid_visits_and_says_why_not",
    ],
    11: ["commerce/test_trajectories.py::test_row_order_and_ranges_change_nothing"],
    12: ["commerce/test_trajectories.py::test_many_events_of_one_user_are_sorted"],
    13: ["test_layers.py::test_every_public_name_says_what_it_means"],
    14: ["commerce/test_release_identity.py::test_the_card_shows_every_setting_with_value_and_origin"],
    15: ["commerce/test_defects_of_logs.py::test_times_and_ids_that_would_sort_wrong_as_text"],
    16: [
        "commerce/test_events.py::test_the_zone_of_the_machine_does_not_matter",
        "commerce/test_defects_of_logs.py::test_yoochoose_times_are_utc_to_the_millisecond",
    ],
    17: [
        "commerce/test_defects_of_logs.py::test_amazon_times_before_1970_and_book_ids",
        "commerce/test_sources_formats.py::test_taobao_stamps_from_1902_to_2037",
    ],
    18: ["commerce/test_defects_of_logs.py::test_a_visit_over_midnight_in_two_daily_files_is_one"],
    19: [
        "trailbench/test_build_identity.py::test_a_cumulative_export_gives_the_release_of_the_whole",
        "assets/test_reuse.py::test_a_drop_recomputes_only_the_shard_of_its_user_and_a_resent_drop_nothing",
    ],
    20: ["commerce/test_defects_of_logs.py::test_a_session_kept_for_months_is_many_visits"],
    21: [
        "commerce/test_visits.py::test_gap_of_thirty_minutes_is_inclusive",
        "commerce/test_batches.py::test_a_pause_of_exactly_fifteen_minutes_does_not_close",
        "commerce/test_batches.py::test_120_days_are_inclusive_and_read_at_the_next_visits_start",
        "commerce/test_batches.py::test_the_fiftieth_visit_makes_a_batch_eligible",
    ],
    22: [
        "commerce/test_batches.py::test_acts_of_one_category_add_up_and_level_one_may_be_missing",
        "commerce/test_batches.py::test_each_strong_act_counts_and_shallow_clicks_never",
    ],
    23: [
        "commerce/test_batches.py::test_the_fiftieth_visit_makes_a_batch_eligible",
        "commerce/test_trajectories.py::test_no_events_give_empty_tables",
    ],
    24: ["commerce/test_batches.py::test_visits_of_one_second_stay_together_even_without_a_gap_rule"],
    25: ["commerce/test_visits.py::test_one_instant_orders_by_action_rank_then_item_text"],
    26: [
        "commerce/test_pool_rules.py::test_repeats_counts_and_roles_are_caught",
        "commerce/test_pools.py::test_the_rules_hold_on_every_world",
    ],
    27: [
        "test_layers.py::test_the_domain_touches_no_clock_network_process_or_environment",
        "memory/test_wall.py::test_no_method_of_ours_reads_a_clock_or_the_environment",
        "commerce/test_sources_dirt.py::test_garbage_lines_are_counted_with_their_line",
    ],
    28: [
        "evaluation/test_leaderboard.py::test_oracle_is_one_chance_a_quarter_and_empty_within_its_interval",
        "evaluation/test_leaderboard.py::test_familiarity_groups_split_the_hits",
    ],
    29: [
        "memory/test_replay.py::test_the_budget_is_enforced_whatever_the_method_says",
        "memory/test_plugins.py::test_a_wrong_configuration_is_refused_where_it_is_given",
    ],
    32: [
        "commerce/test_perturbation.py::test_the_pipeline_passes",
        "memory/test_memory_audit.py::test_the_past_is_untouched_and_all_of_the_future_moves_but_its_first_start",
    ],
    35: [
        "commerce/test_pools.py::test_zone_hash_seed_locale_and_threads_change_nothing",
        "commerce/test_pools.py::test_order_and_choice_differ_between_users_transitions_and_seeds",
    ],
    40: [
        "commerce/test_pools.py::test_positives_stand_anywhere",
        "evaluation/test_scores.py::test_recall_by_position_shows_a_reader_that_takes_the_first",
    ],
    41: [
        "commerce/test_sources_real.py::test_rees46_repeats_are_dropped_and_counted",
        "commerce/test_defects_of_logs.py::test_sessions_of_the_log_never_cut_or_join_visits",
    ],
    42: ["commerce/test_batches.py::test_transitions_are_pairs_of_batches_of_kept_users"],
}

CONCERNED = {*range(1, 30), 32, 35, 40, 41, 42}


def test_every_thread_that_concerns_logs_sessions_labels_or_pools_has_a_test():
    assert set(THREADS) == CONCERNED


@pytest.mark.parametrize("defects", [LOGS, NOT_DECLARABLE, THREADS], ids=["logs", "not declarable", "threads"])
def test_the_tests_named_here_exist(defects):
    known = {}
    for defect, names in defects.items():
        assert names, defect
        for name in names:
            file, _, test = name.partition("::")
            if file not in known:
                tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
                known[file] = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert test in known[file], f"{defect}: {name}"
