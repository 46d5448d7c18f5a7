"""Why a job runs, ran or did not run: answers from what is planned and recorded."""
