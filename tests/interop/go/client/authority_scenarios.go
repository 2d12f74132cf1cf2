package main

import (
	"encoding/json"
	"time"

	arcp "github.com/agentruntimecontrolprotocol/go-sdk"
	"github.com/agentruntimecontrolprotocol/go-sdk/client"
	"github.com/agentruntimecontrolprotocol/go-sdk/messages"
)

func budget(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	lease := anyTool()
	lease[arcp.CapCostBudget] = []string{"USD:1.00"}
	job, err := f.submit(one, client.SubmitRequest{Agent: "spends", LeaseRequest: lease})
	if err != nil {
		return err
	}
	if err := expect(job.Accepted().Budget["USD"] == 1, "accepted with the budget %v", job.Accepted().Budget); err != nil {
		return err
	}
	left := 1.0
	for event := range job.Events() {
		var metric messages.MetricBody
		if event.Kind == messages.KindMetric && json.Unmarshal(event.Body, &metric) == nil &&
			metric.Name == "cost.budget.remaining" {
			left = metric.Value
		}
	}
	if err := f.endsWith(job, arcp.CodeBudgetExhausted); err != nil {
		return err
	}
	return expect(left > -0.2-1e-9 && left < -0.2+1e-9, "what remained was reported as %v", left)
}

func expiry(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	soon := time.Now().Add(time.Second).UTC()
	job, err := f.submit(one, client.SubmitRequest{Agent: "waits",
		LeaseConstraints: &messages.LeaseConstraints{ExpiresAt: &soon}})
	if err != nil {
		return err
	}
	if err := f.endsWith(job, arcp.CodeLeaseExpired); err != nil {
		return err
	}
	return f.alive(one)
}

func delegation(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	job, err := f.submit(one, client.SubmitRequest{Agent: "delegates", Input: object{"n": 1.0},
		LeaseRequest: arcp.Lease{arcp.CapAgentDelegate: {"*"}}})
	if err != nil {
		return err
	}
	// Another submit, while the parent starts its child: each gets its own response.
	other, err := f.start(one, "echo", object{"n": 2.0})
	if err != nil {
		return err
	}
	var child messages.DelegateBody
	if err := f.first(job.Events(), messages.KindDelegate, "", &child); err != nil {
		return err
	}
	if err := expect(child.ChildJobID != "" && child.Agent == "echo", "delegate came as %v", child); err != nil {
		return err
	}
	if err := f.resultsIn(job, object{"n": 1.0}); err != nil {
		return err
	}
	return f.resultsIn(other, object{"n": 2.0})
}

func provisioned(f *fixture) error {
	one, err := f.connect()
	if err != nil {
		return err
	}
	if err := expect(one.HasFeature("provisioned_credentials"), "credentials were not negotiated"); err != nil {
		return err
	}
	job, err := f.submit(one, client.SubmitRequest{Agent: "greet", LeaseRequest: arcp.Lease{arcp.CapModelUse: {"fast/*"}}})
	if err != nil {
		return err
	}
	came := job.Accepted().Credentials
	if err := expect(len(came) == 1, "%d credentials came", len(came)); err != nil {
		return err
	}
	if err := expect(came[0].Value != "" && came[0].Endpoint != "", "the credential has no value"); err != nil {
		return err
	}
	_, err = job.Wait(f.ctx)
	return err
}
