"""Run by the Python of Flink's environment: queries come in as lines of JSON, seconds go out."""

from __future__ import annotations

import json
import sys

PARALLELISM = "2"
TABLE = (
    "CREATE TABLE {name} (item BIGINT, price DOUBLE, bidder BIGINT, millis BIGINT, "
    "ts AS TO_TIMESTAMP_LTZ(millis, 3), WATERMARK FOR ts AS ts) "
    "WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv')"
)


def seconds(request: dict) -> float:
    """What Flink says the job took, from its start to its end, without planning."""
    from pyflink.table import EnvironmentSettings, TableEnvironment

    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = {"parallelism.default": PARALLELISM, **request["settings"]}
    for key, value in settings.items():
        tables.get_config().set(key, value)
    for name, folder in request["streams"].items():
        tables.execute_sql(TABLE.format(name=name, folder=folder))
    tables.execute_sql(f"CREATE VIEW answer AS {request['query']}")
    schema = tables.from_path("answer")._j_table.getResolvedSchema()
    fields = ", ".join(
        f"`{column.getName()}` {column.getDataType().getLogicalType().asSerializableString()}"
        for column in schema.getColumns()
    )
    tables.execute_sql(f"CREATE TABLE nowhere ({fields}) WITH ('connector' = 'blackhole')")
    job = tables.execute_sql("INSERT INTO nowhere SELECT * FROM answer").get_job_client()
    return job.get_job_execution_result().result().get_net_runtime() / 1000


def main() -> None:
    for line in sys.stdin:
        try:
            answer = {"seconds": seconds(json.loads(line))}
        except Exception as error:
            answer = {"error": str(error).strip().splitlines()[0][:300]}
        print("answer " + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
