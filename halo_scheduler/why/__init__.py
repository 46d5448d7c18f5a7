"""Why a job runs, ran or did not run: answers from the plan and the records."""
